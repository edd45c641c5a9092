//! Rate limits per user and per address.
//!
//! Each limit is a bucket: `burst` requests at once, then `per_minute`. The number of buckets is bounded: the least used
//! ones are forgotten, which only forgives.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use godwit_protocol::{ErrorCode, UserId};
use governor::clock::{Clock, DefaultClock};
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed, StateStore};
use governor::{Quota, RateLimiter};
use metrics::counter;
use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};

use crate::problem::{ApiError, ApiResult};

/// Buckets that one limit keeps.
pub const RATE_BUCKETS_MAX: usize = 100_000;

/// The address a request came from. The listener puts it into the extensions of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

/// How often something may be done. Without `per_minute` (or with 0) there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    #[serde(default)]
    pub per_minute: u32,
    /// How many at once; as many as a minute has when absent.
    #[serde(default)]
    pub burst: u32,
}

impl Rate {
    pub const OFF: Self = Self::new(0, 0);

    pub const fn new(per_minute: u32, burst: u32) -> Self {
        Self { per_minute, burst }
    }

    fn quota(self) -> Option<Quota> {
        let per_minute = NonZeroU32::new(self.per_minute)?;
        Some(Quota::per_minute(per_minute).allow_burst(NonZeroU32::new(self.burst).unwrap_or(per_minute)))
    }
}

/// All limits. Many people can share one address, so limits per address are wide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RateConfig {
    pub sign_in_per_address: Rate,
    /// Attempts for one account, from wherever they come.
    pub sign_in_per_user: Rate,
    pub register_per_address: Rate,
    pub send_per_user: Rate,
    pub send_per_address: Rate,
    pub search_per_user: Rate,
    pub search_per_address: Rate,
    /// Everything that a signed-in user asks for, over HTTP and the socket.
    pub commands_per_user: Rate,
}

impl Default for RateConfig {
    fn default() -> Self {
        Self {
            sign_in_per_address: Rate::new(60, 60),
            sign_in_per_user: Rate::new(10, 20),
            register_per_address: Rate::new(30, 60),
            send_per_user: Rate::new(1_800, 300),
            send_per_address: Rate::new(30_000, 3_000),
            search_per_user: Rate::new(120, 60),
            search_per_address: Rate::new(1_200, 600),
            commands_per_user: Rate::new(6_000, 1_000),
        }
    }
}

impl RateConfig {
    /// No limits at all.
    pub const OFF: Self = Self {
        sign_in_per_address: Rate::OFF,
        sign_in_per_user: Rate::OFF,
        register_per_address: Rate::OFF,
        send_per_user: Rate::OFF,
        send_per_address: Rate::OFF,
        search_per_user: Rate::OFF,
        search_per_address: Rate::OFF,
        commands_per_user: Rate::OFF,
    };
}

/// The buckets of this node.
#[derive(Debug)]
pub struct RateLimits {
    sign_in_per_address: Limit<IpAddr>,
    sign_in_per_user: Limit<u64>,
    register_per_address: Limit<IpAddr>,
    send_per_user: Limit<UserId>,
    send_per_address: Limit<IpAddr>,
    search_per_user: Limit<UserId>,
    search_per_address: Limit<IpAddr>,
    commands_per_user: Limit<UserId>,
}

impl RateLimits {
    pub fn new(config: &RateConfig) -> Self {
        Self {
            sign_in_per_address: Limit::new("sign_in", config.sign_in_per_address),
            sign_in_per_user: Limit::new("sign_in", config.sign_in_per_user),
            register_per_address: Limit::new("register", config.register_per_address),
            send_per_user: Limit::new("send", config.send_per_user),
            send_per_address: Limit::new("send", config.send_per_address),
            search_per_user: Limit::new("search", config.search_per_user),
            search_per_address: Limit::new("search", config.search_per_address),
            commands_per_user: Limit::new("commands", config.commands_per_user),
        }
    }

    /// Before a password is looked at. `account` is the handle as it was typed, whether or not it exists.
    pub fn check_sign_in(&self, address: ClientAddress, account: &str) -> ApiResult<()> {
        self.sign_in_per_address.check(&address.network())?;
        let mut hasher = DefaultHasher::new();
        account.to_ascii_lowercase().hash(&mut hasher);
        self.sign_in_per_user.check(&hasher.finish())
    }

    pub fn check_register(&self, address: ClientAddress) -> ApiResult<()> {
        self.register_per_address.check(&address.network())
    }

    pub fn check_send(&self, user: UserId) -> ApiResult<()> {
        self.send_per_user.check(&user)
    }

    /// Beside [`Self::check_send`]: what all users of an address send together.
    pub fn check_send_from(&self, address: ClientAddress) -> ApiResult<()> {
        self.send_per_address.check(&address.network())
    }

    pub fn check_search(&self, user: UserId, address: ClientAddress) -> ApiResult<()> {
        self.search_per_user.check(&user)?;
        self.search_per_address.check(&address.network())
    }

    pub fn check_commands(&self, user: UserId) -> ApiResult<()> {
        self.commands_per_user.check(&user)
    }
}

impl ClientAddress {
    /// For requests that came by no listener.
    pub const UNKNOWN: Self = Self(IpAddr::V4(Ipv4Addr::UNSPECIFIED));

    /// What one customer of a provider has: an IPv4 address, or an IPv6 network of 64 bits.
    fn network(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from(u128::from(address) >> 64 << 64)),
        }
    }
}

#[derive(Debug)]
struct Limit<K: Clone + Eq + Hash> {
    name: &'static str,
    limiter: Option<RateLimiter<K, Buckets<K>, DefaultClock>>,
    clock: DefaultClock,
}

impl<K: Clone + Eq + Hash> Limit<K> {
    fn new(name: &'static str, rate: Rate) -> Self {
        let clock = DefaultClock::default();
        let limiter = rate.quota().map(|quota| RateLimiter::new(quota, Buckets::default(), clock.clone()));
        Self { name, limiter, clock }
    }

    fn check(&self, key: &K) -> ApiResult<()> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        limiter.check_key(key).map_err(|refused| {
            counter!("godwit_rate_limited_total", "limit" => self.name).increment(1);
            let wait = refused.wait_time_from(self.clock.now());
            ApiError::new(ErrorCode::RateLimited).with_retry_after(whole_seconds(wait))
        })
    }
}

/// Never less than the time, so that who waits this long is let in.
fn whole_seconds(wait: Duration) -> u32 {
    let rounded_up = wait.as_millis().div_ceil(1_000).max(1);
    u32::try_from(rounded_up).unwrap_or(u32::MAX)
}

/// The state of each key, bounded.
#[derive(Debug)]
struct Buckets<K>(Cache<K, Arc<InMemoryState>>);

impl<K: Eq + Hash> Default for Buckets<K> {
    fn default() -> Self {
        Self(Cache::new(RATE_BUCKETS_MAX))
    }
}

impl<K: Clone + Eq + Hash> StateStore for Buckets<K> {
    type Key = K;

    fn measure_and_replace<T, F, E>(&self, key: &K, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let bucket = self.0.get_or_insert_with(key, || Ok::<_, E>(Arc::default()))?;
        bucket.measure_and_replace(&NotKeyed::NonKey, measure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(rate: Rate) -> RateLimits {
        RateLimits::new(&RateConfig { sign_in_per_address: rate, send_per_user: rate, ..RateConfig::OFF })
    }

    fn address(text: &str) -> ClientAddress {
        ClientAddress(text.parse().unwrap())
    }

    #[test]
    fn past_the_burst_one_waits_and_others_do_not() {
        let limits = limits(Rate::new(1, 3));
        let (ada, bob) = (UserId::new(1), UserId::new(2));
        for _ in 0..3 {
            limits.check_send(ada).unwrap();
        }
        let problem = limits.check_send(ada).unwrap_err().into_problem();
        assert_eq!((problem.code, problem.status, problem.temporary), (ErrorCode::RateLimited, 429, true));
        assert!((1..=60).contains(&problem.retry_after.unwrap()), "{:?}", problem.retry_after);
        limits.check_send(bob).unwrap();
    }

    #[test]
    fn an_ipv6_network_is_one_address() {
        let limits = limits(Rate::new(1, 1));
        limits.check_sign_in(address("2001:db8::1"), "ada").unwrap();
        assert!(limits.check_sign_in(address("2001:db8::2"), "ada").is_err());
        limits.check_sign_in(address("2001:db8:0:1::1"), "ada").unwrap();
        limits.check_sign_in(address("192.0.2.1"), "ada").unwrap();
        assert!(limits.check_sign_in(address("::ffff:192.0.2.1"), "ada").is_err());
    }

    #[test]
    fn a_limit_can_be_off() {
        let limits = limits(Rate::OFF);
        for _ in 0..10_000 {
            limits.check_send(UserId::new(1)).unwrap();
        }
    }

    #[test]
    fn memory_is_bounded() {
        let limit = Limit::new("send", Rate::new(1, 1));
        for user in 0..2 * RATE_BUCKETS_MAX as u64 {
            limit.check(&UserId::new(user)).unwrap();
        }
        assert!(limit.limiter.unwrap().into_state_store().0.len() <= RATE_BUCKETS_MAX);
    }

    #[test]
    fn the_wait_is_never_said_too_short() {
        assert_eq!(whole_seconds(Duration::from_millis(1)), 1);
        assert_eq!(whole_seconds(Duration::from_millis(1_001)), 2);
    }
}
