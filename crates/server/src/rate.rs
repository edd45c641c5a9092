//! Rate limits per user, per device, per address and per network.
//!
//! Each limit is a token bucket: `burst` requests at once, then `per_minute`. The number of buckets is bounded: the least
//! used buckets are dropped, which only makes a limit more generous.
//!
//! Sign-in attempts are counted in a way that a stranger cannot lock a user out: first per (account, network), and only
//! attempts within that limit count towards the whole account. A device on which the user has signed in before bypasses
//! both. It has its own limit, and limits that all known devices of the user, and of the address, share.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use godwit_protocol::{DeviceId, ErrorCode, UserId};
use governor::clock::{Clock, DefaultClock};
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed, StateStore};
use governor::{Quota, RateLimiter};
use metrics::counter;
use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};

use crate::config::settings::settings;
use crate::network::ClientAddress;
use crate::problem::{ApiError, ApiResult};

/// Buckets per limit.
pub const RATE_BUCKETS_MAX: usize = 100_000;
/// Users or conversations that one command names for the price of one command.
const NAMED_PER_COMMAND: usize = 10;
/// The commands that a command counts as that reads a whole account log.
const COMMANDS_PER_ACCOUNT_LOG: usize = 20;
const KIB: usize = 1024;
/// The size that a forward counts as. Its content is not in the request: the server copies it.
const FORWARD_BYTES: usize = 8 * KIB;

/// A rate. Without `per_minute` (or with 0) there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    #[serde(default)]
    pub per_minute: u32,
    /// The burst size. Equal to `per_minute` if absent.
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

settings! {
    /// All limits. Many people can share one address, so limits per address are wide. [`crate::network`] defines addresses and
    /// networks.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct RateConfig {
        /// Sign-in attempts from one address, for any account.
        pub sign_in_per_address: Rate,
        /// Sign-in attempts from one network, for any account.
        pub sign_in_per_network: Rate,
        /// Sign-in attempts for one account from one network.
        pub sign_in_per_user_and_network: Rate,
        /// Sign-in attempts for one account from everywhere.
        pub sign_in_per_user: Rate,
        /// Sign-in attempts from a known device (one on which the user has signed in before), and its password changes.
        /// The four limits above do not count these.
        pub sign_in_per_device: Rate,
        /// The same for all known devices of one user together.
        pub known_sign_in_per_user: Rate,
        /// The same for all known devices at one address.
        pub known_sign_in_per_address: Rate,
        /// Registrations from one address.
        pub register_per_address: Rate,
        /// Registrations from one network.
        pub register_per_network: Rate,
        /// Refreshes of the session of one device.
        pub refresh_per_device: Rate,
        /// Attempts to refresh with invalid tokens from one address.
        pub refresh_per_address: Rate,
        /// Sockets of one user that sign in, or sign in again with a new token.
        pub socket_sign_in_per_user: Rate,
        /// Attempts to sign in a socket with an invalid token from one address.
        pub socket_sign_in_per_address: Rate,
        /// Messages of one user. A scheduled message counts when it is scheduled.
        pub send_per_user: Rate,
        /// Messages from one address.
        pub send_per_address: Rate,
        /// KiB that one user writes with messages, edits, drafts and other changes. The first KiB of each request is
        /// free, so only long content counts. A forward counts as 8 KiB.
        pub written_kib_per_user: Rate,
        /// Searches of one user, for people and for members of a conversation.
        pub search_per_user: Rate,
        /// Searches from one address.
        pub search_per_address: Rate,
        /// Requests of one user that change something or that others are notified of, except sends. Also counted by
        /// `commands_per_user`.
        pub changes_per_user: Rate,
        /// All requests of a signed-in user, over HTTP and sockets.
        pub commands_per_user: Rate,
        /// Pings of one user on sockets: WebSocket pings and `ping` commands.
        pub pings_per_user: Rate,
        /// Requests for the web client and the API documents from one address.
        pub pages_per_address: Rate,
    }
}

impl Default for RateConfig {
    fn default() -> Self {
        Self {
            sign_in_per_address: Rate::new(60, 60),
            sign_in_per_network: Rate::new(600, 300),
            sign_in_per_user_and_network: Rate::new(3, 20),
            sign_in_per_user: Rate::new(10, 60),
            sign_in_per_device: Rate::new(10, 20),
            known_sign_in_per_user: Rate::new(20, 60),
            known_sign_in_per_address: Rate::new(600, 300),
            register_per_address: Rate::new(30, 60),
            register_per_network: Rate::new(120, 240),
            refresh_per_device: Rate::new(6, 20),
            refresh_per_address: Rate::new(1_200, 600),
            socket_sign_in_per_user: Rate::new(120, 120),
            socket_sign_in_per_address: Rate::new(3_000, 1_500),
            send_per_user: Rate::new(1_800, 300),
            send_per_address: Rate::new(30_000, 3_000),
            written_kib_per_user: Rate::new(1_024, 8_192),
            search_per_user: Rate::new(120, 60),
            search_per_address: Rate::new(1_200, 600),
            changes_per_user: Rate::new(3_000, 600),
            commands_per_user: Rate::new(6_000, 1_000),
            pings_per_user: Rate::new(600, 120),
            pages_per_address: Rate::new(3_000, 1_000),
        }
    }
}

impl RateConfig {
    /// No limits.
    pub const OFF: Self = Self {
        sign_in_per_address: Rate::OFF,
        sign_in_per_network: Rate::OFF,
        sign_in_per_user_and_network: Rate::OFF,
        sign_in_per_user: Rate::OFF,
        sign_in_per_device: Rate::OFF,
        known_sign_in_per_user: Rate::OFF,
        known_sign_in_per_address: Rate::OFF,
        register_per_address: Rate::OFF,
        register_per_network: Rate::OFF,
        refresh_per_device: Rate::OFF,
        refresh_per_address: Rate::OFF,
        socket_sign_in_per_user: Rate::OFF,
        socket_sign_in_per_address: Rate::OFF,
        send_per_user: Rate::OFF,
        send_per_address: Rate::OFF,
        written_kib_per_user: Rate::OFF,
        search_per_user: Rate::OFF,
        search_per_address: Rate::OFF,
        changes_per_user: Rate::OFF,
        commands_per_user: Rate::OFF,
        pings_per_user: Rate::OFF,
        pages_per_address: Rate::OFF,
    };
}

/// The buckets of this node.
#[derive(Debug)]
pub struct RateLimits {
    sign_in_per_address: Limit<IpAddr>,
    sign_in_per_network: Limit<IpAddr>,
    sign_in_per_user_and_network: Limit<(u64, IpAddr)>,
    sign_in_per_user: Limit<u64>,
    sign_in_per_device: Limit<DeviceId>,
    known_sign_in_per_user: Limit<UserId>,
    known_sign_in_per_address: Limit<IpAddr>,
    register_per_address: Limit<IpAddr>,
    register_per_network: Limit<IpAddr>,
    refresh_per_device: Limit<DeviceId>,
    refresh_per_address: Limit<IpAddr>,
    socket_sign_in_per_user: Limit<UserId>,
    socket_sign_in_per_address: Limit<IpAddr>,
    send_per_user: Limit<UserId>,
    send_per_address: Limit<IpAddr>,
    written_kib_per_user: Limit<UserId>,
    search_per_user: Limit<UserId>,
    search_per_address: Limit<IpAddr>,
    changes_per_user: Limit<UserId>,
    commands_per_user: Limit<UserId>,
    pings_per_user: Limit<UserId>,
    pages_per_address: Limit<IpAddr>,
}

impl RateLimits {
    pub fn new(config: &RateConfig) -> Self {
        Self {
            sign_in_per_address: Limit::new("sign_in", config.sign_in_per_address),
            sign_in_per_network: Limit::new("sign_in", config.sign_in_per_network),
            sign_in_per_user_and_network: Limit::new("sign_in", config.sign_in_per_user_and_network),
            sign_in_per_user: Limit::new("sign_in", config.sign_in_per_user),
            sign_in_per_device: Limit::new("sign_in", config.sign_in_per_device),
            known_sign_in_per_user: Limit::new("sign_in", config.known_sign_in_per_user),
            known_sign_in_per_address: Limit::new("sign_in", config.known_sign_in_per_address),
            register_per_address: Limit::new("register", config.register_per_address),
            register_per_network: Limit::new("register", config.register_per_network),
            refresh_per_device: Limit::new("refresh", config.refresh_per_device),
            refresh_per_address: Limit::new("refresh", config.refresh_per_address),
            socket_sign_in_per_user: Limit::new("socket_sign_in", config.socket_sign_in_per_user),
            socket_sign_in_per_address: Limit::new("socket_sign_in", config.socket_sign_in_per_address),
            send_per_user: Limit::new("send", config.send_per_user),
            send_per_address: Limit::new("send", config.send_per_address),
            written_kib_per_user: Limit::new("written", config.written_kib_per_user),
            search_per_user: Limit::new("search", config.search_per_user),
            search_per_address: Limit::new("search", config.search_per_address),
            changes_per_user: Limit::new("changes", config.changes_per_user),
            commands_per_user: Limit::new("commands", config.commands_per_user),
            pings_per_user: Limit::new("pings", config.pings_per_user),
            pages_per_address: Limit::new("pages", config.pages_per_address),
        }
    }

    /// Before a password check without a known device. `account` is the handle as it was typed, whether or not it exists.
    pub fn check_sign_in(&self, address: ClientAddress, account: &str) -> ApiResult<()> {
        let network = address.network();
        self.sign_in_per_address.check(&address.address())?;
        self.sign_in_per_network.check(&network)?;
        let mut hasher = DefaultHasher::new();
        account.to_ascii_lowercase().hash(&mut hasher);
        let account = hasher.finish();
        self.sign_in_per_user_and_network.check(&(account, network))?;
        self.sign_in_per_user.check(&account)
    }

    /// Before a password check from a device of the user: a sign-in with its proof, or a password change. Neither a stolen
    /// proof nor a stolen token must help to guess the password.
    pub fn check_known(&self, address: ClientAddress, user: UserId, device: DeviceId) -> ApiResult<()> {
        self.sign_in_per_device.check(&device)?;
        self.known_sign_in_per_user.check(&user)?;
        self.known_sign_in_per_address.check(&address.address())
    }

    pub fn check_register(&self, address: ClientAddress) -> ApiResult<()> {
        self.register_per_address.check(&address.address())?;
        self.register_per_network.check(&address.network())
    }

    /// For an invalid refresh token.
    pub fn check_bad_refresh(&self, address: ClientAddress) -> ApiResult<()> {
        self.refresh_per_address.check(&address.address())
    }

    pub fn check_refresh(&self, device: DeviceId) -> ApiResult<()> {
        self.refresh_per_device.check(&device)
    }

    /// For an invalid token of a socket.
    pub fn check_bad_socket_sign_in(&self, address: ClientAddress) -> ApiResult<()> {
        self.socket_sign_in_per_address.check(&address.address())
    }

    pub fn check_socket_sign_in(&self, user: UserId) -> ApiResult<()> {
        self.socket_sign_in_per_user.check(&user)
    }

    /// For a message that is sent or scheduled. All users of an address share a limit too.
    pub fn check_send(&self, user: UserId, address: ClientAddress) -> ApiResult<()> {
        self.send_per_user.check(&user)?;
        self.send_per_address.check(&address.address())
    }

    /// In addition to the limits above, for a request of this size. All that a user stores comes through here, so this bounds how
    /// fast one account can fill the disk.
    pub fn check_written(&self, user: UserId, bytes: usize) -> ApiResult<()> {
        self.written_kib_per_user.check_times(&user, bytes.saturating_sub(1) / KIB)
    }

    /// The same for a forward, whatever its request.
    pub fn check_forward(&self, user: UserId) -> ApiResult<()> {
        self.check_written(user, FORWARD_BYTES + KIB)
    }

    pub fn check_search(&self, user: UserId, address: ClientAddress) -> ApiResult<()> {
        self.search_per_user.check(&user)?;
        self.search_per_address.check(&address.address())
    }

    pub fn check_changes(&self, user: UserId) -> ApiResult<()> {
        self.changes_per_user.check(&user)
    }

    pub fn check_commands(&self, user: UserId) -> ApiResult<()> {
        self.commands_per_user.check(&user)
    }

    /// In addition to [`Self::check_commands`], for a command that names many users or conversations, or asks for a page whose
    /// rows are read one by one, from all over: ten of them count as one more command.
    pub fn check_named(&self, user: UserId, named: usize) -> ApiResult<()> {
        self.commands_per_user.check_times(&user, named / NAMED_PER_COMMAND)
    }

    /// In addition to [`Self::check_commands`], for a command that reads a whole account log.
    pub fn check_account_log(&self, user: UserId) -> ApiResult<()> {
        self.commands_per_user.check_times(&user, COMMANDS_PER_ACCOUNT_LOG - 1)
    }

    pub fn check_pings(&self, user: UserId) -> ApiResult<()> {
        self.pings_per_user.check(&user)
    }

    pub fn check_pages(&self, address: ClientAddress) -> ApiResult<()> {
        self.pages_per_address.check(&address.address())
    }
}

#[derive(Debug)]
struct Limit<K: Clone + Eq + Hash> {
    name: &'static str,
    limiter: Option<RateLimiter<K, Buckets<K>, DefaultClock>>,
    /// The burst size.
    times_max: u32,
    clock: DefaultClock,
}

impl<K: Clone + Eq + Hash> Limit<K> {
    fn new(name: &'static str, rate: Rate) -> Self {
        let clock = DefaultClock::default();
        let quota = rate.quota();
        let times_max = quota.map_or(0, |quota| quota.burst_size().get());
        let limiter = quota.map(|quota| RateLimiter::new(quota, Buckets::default(), clock.clone()));
        Self { name, limiter, times_max, clock }
    }

    fn check(&self, key: &K) -> ApiResult<()> {
        self.check_times(key, 1)
    }

    /// Counts several times, or not at all if the limit does not allow all of them now. More than a burst counts as a burst:
    /// otherwise the request could never be accepted.
    fn check_times(&self, key: &K, times: usize) -> ApiResult<()> {
        let times = u32::try_from(times).unwrap_or(u32::MAX).min(self.times_max);
        let (Some(limiter), Some(times)) = (&self.limiter, NonZeroU32::new(times)) else { return Ok(()) };
        // The outer error is impossible: a burst has room for so many.
        let Ok(outcome) = limiter.check_key_n(key, times) else { return Ok(()) };
        outcome.map_err(|refused| {
            counter!("godwit_rate_limited_total", "limit" => self.name).increment(1);
            let wait = refused.wait_time_from(self.clock.now());
            ApiError::new(ErrorCode::RateLimited).with_retry_after(whole_seconds(wait))
        })
    }
}

/// Rounds up, so that a client that waits this long is admitted.
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
    fn a_client_past_its_burst_waits_and_others_do_not() {
        let limits = limits(Rate::new(1, 3));
        let (ada, bob) = (UserId::new(1), UserId::new(2));
        for _ in 0..3 {
            limits.check_send(ada, address("192.0.2.1")).unwrap();
        }
        let problem = limits.check_send(ada, address("192.0.2.1")).unwrap_err().into_problem();
        assert_eq!((problem.code, problem.status, problem.temporary), (ErrorCode::RateLimited, 429, true));
        assert!((1..=60).contains(&problem.retry_after.unwrap()), "{:?}", problem.retry_after);
        limits.check_send(bob, address("192.0.2.1")).unwrap();
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
    fn one_network_cannot_use_up_the_limit_of_an_account() {
        let limits = RateLimits::new(&RateConfig {
            sign_in_per_user_and_network: Rate::new(1, 3),
            sign_in_per_user: Rate::new(1, 4),
            sign_in_per_device: Rate::new(1, 2),
            ..RateConfig::OFF
        });
        let tried = |from: &str| limits.check_sign_in(address(from), "Ada").is_ok();
        let attempts = (0..100).filter(|n| tried(&format!("192.0.2.{n}"))).count();
        assert_eq!(attempts, 3, "all addresses of a network count together");
        assert!(tried("198.51.100.1"));
        // The account's limit is used up now, which does not affect its own devices.
        assert!(!tried("203.0.113.1"));
        let known = |from: &str| limits.check_known(address(from), UserId::new(7), DeviceId::new(1)).is_ok();
        assert!(known("192.0.2.1") && known("203.0.113.1"));
        assert!(!known("203.0.113.1"), "a device has its own limit");
    }

    #[test]
    fn known_devices_share_limits_per_user_and_per_address() {
        let known = |limits: &RateLimits, from: &str, user, device| {
            limits.check_known(address(from), UserId::new(user), DeviceId::new(device)).is_ok()
        };
        let rate = Rate::new(1, 3);
        let limits = RateLimits::new(&RateConfig { known_sign_in_per_user: rate, ..RateConfig::OFF });
        let attempts = (0..10).filter(|n| known(&limits, &format!("192.0.2.{n}"), 7, *n)).count();
        assert_eq!(attempts, 3);
        assert!(known(&limits, "192.0.2.1", 8, 1), "another user is not hindered");
        let limits = RateLimits::new(&RateConfig { known_sign_in_per_address: rate, ..RateConfig::OFF });
        assert_eq!((0..10).filter(|n| known(&limits, "192.0.2.1", *n, *n)).count(), 3);
        assert!(known(&limits, "192.0.2.2", 1, 1));
    }

    #[test]
    fn only_long_content_counts_towards_what_a_user_writes() {
        let limits = |burst| {
            RateLimits::new(&RateConfig { written_kib_per_user: Rate::new(1, burst), ..RateConfig::OFF })
        };
        let (ada, bob) = (UserId::new(1), UserId::new(2));
        let ten = limits(10);
        for _ in 0..1_000 {
            ten.check_written(ada, KIB).unwrap();
        }
        ten.check_written(ada, 6 * KIB).unwrap();
        let refused = ten.check_written(ada, 7 * KIB).unwrap_err().into_problem();
        assert_eq!(refused.code, ErrorCode::RateLimited);
        // A refused request has used up nothing.
        ten.check_written(ada, 6 * KIB).unwrap();
        assert!(ten.check_forward(ada).is_err());
        ten.check_forward(bob).unwrap();
        // A request that is larger than a burst is possible, once the burst is there.
        let two = limits(2);
        two.check_written(ada, 64 * KIB).unwrap();
        assert!(two.check_written(ada, 2 * KIB).is_err());
    }

    #[test]
    fn a_command_that_names_much_counts_as_several() {
        let limits = RateLimits::new(&RateConfig { commands_per_user: Rate::new(1, 30), ..RateConfig::OFF });
        let ada = UserId::new(1);
        limits.check_named(ada, 9).unwrap();
        limits.check_named(ada, 100).unwrap();
        limits.check_account_log(ada).unwrap();
        limits.check_commands(ada).unwrap();
        assert!(limits.check_commands(ada).is_err());
    }

    #[test]
    fn a_limit_can_be_off() {
        let limits = limits(Rate::OFF);
        for _ in 0..10_000 {
            limits.check_send(UserId::new(1), address("192.0.2.1")).unwrap();
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
    fn retry_after_is_never_too_short() {
        assert_eq!(whole_seconds(Duration::from_millis(1)), 1);
        assert_eq!(whole_seconds(Duration::from_millis(1_001)), 2);
    }
}
