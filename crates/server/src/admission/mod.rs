//! Admission control: concurrency limits for expensive requests that arrive in bursts when a server is lost or attacked:
//! sign-ins of sockets and password hashes ([`fair`]), and `sync`.
//!
//! A caller that finds no free permit waits. Signed-in users wait for a `sync` in the order of their requests, each with a few
//! calls at a time. Callers that are not authenticated yet wait in a queue that is fair to every network. A caller that waits too
//! long is told to retry, each after a different time. So the admitted work runs at the speed of the store, and the rest of the
//! server does not slow down.

pub mod fair;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use godwit_protocol::{ErrorCode, UserId};
use metrics::{counter, histogram};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use self::fair::{FairQueue, FairQueueLimits};
use crate::config::settings::settings;
use crate::problem::ApiError;

/// Refused callers are told to retry after a random part of this time.
const RETRY_SPREAD_S: u32 = 8;
/// The assumed durations of a sign-in and of a hash until some have been measured.
const SIGN_IN_TOOK_AT_FIRST: Duration = Duration::from_millis(5);
const HASH_TOOK_AT_FIRST: Duration = Duration::from_millis(50);

settings! {
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct AdmissionConfig {
        /// Sockets that may sign in at the same time. Further ones wait.
        pub sign_ins_at_once_max: usize,
        /// Sockets that may wait to sign in.
        pub sign_ins_waiting_max: usize,
        /// The same per network (IPv4 /24, IPv6 /48). Networks take turns, and so do the addresses of a network.
        pub sign_ins_waiting_per_network_max: usize,
        /// `sync` requests that may run at the same time. Further ones wait.
        pub syncs_at_once_max: usize,
        /// `sync` requests of one user that may run, or wait for others, at the same time. Further ones of the user wait for
        /// these.
        pub syncs_per_user_max: usize,
        /// Passwords that may wait to be hashed, for registrations, sign-ins and password changes.
        /// `auth.passwords.concurrent_max` says how many are hashed at the same time.
        pub passwords_waiting_max: usize,
        /// The same per network (IPv4 /24, IPv6 /48). Networks take turns, and so do the addresses of a network.
        pub passwords_waiting_per_network_max: usize,
        /// How long a request waits before it is refused. A sign-in or a password that would have to wait longer is refused
        /// at once.
        pub wait_ms: u64,
    }
}

impl Default for AdmissionConfig {
    fn default() -> Self {
        Self {
            sign_ins_at_once_max: 32,
            sign_ins_waiting_max: 16_384,
            sign_ins_waiting_per_network_max: 4_096,
            syncs_at_once_max: 16,
            syncs_per_user_max: 4,
            passwords_waiting_max: 1_024,
            passwords_waiting_per_network_max: 128,
            wait_ms: 5_000,
        }
    }
}

#[derive(Debug)]
pub struct Admission {
    /// Sign-ins of sockets.
    pub sign_ins: Arc<FairQueue>,
    pub syncs: ConcurrencyLimit,
    /// Password hashes, for registrations, sign-ins and password changes.
    pub passwords: Arc<FairQueue>,
}

impl Admission {
    pub fn new(config: &AdmissionConfig, passwords_at_once_max: usize) -> Self {
        let wait_max = Duration::from_millis(config.wait_ms);
        Self {
            sign_ins: FairQueue::new(
                "sign_in",
                FairQueueLimits {
                    at_once_max: config.sign_ins_at_once_max,
                    waiting_max: config.sign_ins_waiting_max,
                    waiting_per_network_max: config.sign_ins_waiting_per_network_max,
                    wait_max,
                    took_at_first: SIGN_IN_TOOK_AT_FIRST,
                },
            ),
            syncs: ConcurrencyLimit::new(
                "sync",
                config.syncs_at_once_max,
                config.syncs_per_user_max,
                wait_max,
            ),
            passwords: FairQueue::new(
                "password",
                FairQueueLimits {
                    at_once_max: passwords_at_once_max,
                    waiting_max: config.passwords_waiting_max,
                    waiting_per_network_max: config.passwords_waiting_per_network_max,
                    wait_max,
                    took_at_first: HASH_TOOK_AT_FIRST,
                },
            ),
        }
    }
}

/// Limits concurrent calls, in total and for each user. Calls of one user above their share wait for that user's own calls, so a
/// user who calls often makes only themselves wait.
#[derive(Debug)]
pub struct ConcurrencyLimit {
    name: &'static str,
    permits: Arc<Semaphore>,
    users: Arc<Users>,
    wait_max: Duration,
}

/// The semaphores of the users who have calls.
#[derive(Debug)]
struct Users {
    per_user_max: usize,
    semaphores: Mutex<HashMap<UserId, Arc<Semaphore>>>,
}

/// Admits one call until it is dropped.
#[derive(Debug)]
pub struct Permit {
    _permit: OwnedSemaphorePermit,
    _share: OwnedSemaphorePermit,
    // Dropped last: it looks for other holders of the semaphore.
    _call: Call,
}

/// A call that runs or waits. Dropping the last one of a user forgets their semaphore.
#[derive(Debug)]
struct Call {
    user: UserId,
    users: Arc<Users>,
}

impl ConcurrencyLimit {
    fn new(name: &'static str, at_once_max: usize, per_user_max: usize, wait_max: Duration) -> Self {
        let users = Arc::new(Users { per_user_max, semaphores: Mutex::default() });
        Self { name, permits: Arc::new(Semaphore::new(at_once_max)), users, wait_max }
    }

    pub async fn enter(&self, user: UserId) -> Result<Permit, ApiError> {
        let call = Call { user, users: self.users.clone() };
        let share = self.users.semaphore_of(user);
        if let Ok(share) = share.clone().try_acquire_owned()
            && let Ok(permit) = self.permits.clone().try_acquire_owned()
        {
            return Ok(Permit { _permit: permit, _share: share, _call: call });
        }
        let began = Instant::now();
        let entering = async {
            let share = share.acquire_owned().await.ok()?;
            let permit = self.permits.clone().acquire_owned().await.ok()?;
            Some((permit, share))
        };
        let entered = timeout(self.wait_max, entering).await;
        histogram!("godwit_admission_wait_seconds", "for" => self.name).record(began.elapsed());
        // `None` is impossible: no code closes a semaphore.
        if let Ok(Some((permit, share))) = entered {
            return Ok(Permit { _permit: permit, _share: share, _call: call });
        }
        counter!("godwit_admission_refused_total", "for" => self.name).increment(1);
        Err(ApiError::new(ErrorCode::Unavailable)
            .with_detail("too many requests at once")
            .with_retry_after(rand::random_range(1..=RETRY_SPREAD_S)))
    }
}

impl Users {
    fn semaphore_of(&self, user: UserId) -> Arc<Semaphore> {
        self.lock().entry(user).or_insert_with(|| Arc::new(Semaphore::new(self.per_user_max))).clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<UserId, Arc<Semaphore>>> {
        self.semaphores.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut semaphores = self.users.lock();
        // Every other call of the user holds the semaphore too.
        if semaphores.get(&self.user).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            semaphores.remove(&self.user);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::ClientAddress;

    #[tokio::test(start_paused = true)]
    async fn callers_without_a_permit_wait_in_order_and_time_out() {
        let config = AdmissionConfig { syncs_at_once_max: 1, wait_ms: 1_000, ..AdmissionConfig::default() };
        let admission = Arc::new(Admission::new(&config, 1));
        let first = admission.syncs.enter(UserId::new(1)).await.unwrap();
        let second = tokio::spawn({
            let admission = admission.clone();
            async move { admission.syncs.enter(UserId::new(1)).await }
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        drop(first);
        let _second = second.await.unwrap().unwrap();
        let refused = admission.syncs.enter(UserId::new(1)).await.unwrap_err().into_problem();
        assert_eq!(refused.code, ErrorCode::Unavailable);
        assert!((1..=RETRY_SPREAD_S).contains(&refused.retry_after.unwrap()));
        // The limits are independent.
        admission.sign_ins.wait(ClientAddress::UNKNOWN, false).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_who_syncs_often_makes_only_themselves_wait() {
        let config =
            AdmissionConfig { syncs_at_once_max: 3, syncs_per_user_max: 2, ..AdmissionConfig::default() };
        let admission = Arc::new(Admission::new(&config, 1));
        let (ada, bob) = (UserId::new(1), UserId::new(2));
        let flood: Vec<_> = (0..100)
            .map(|_| {
                let admission = admission.clone();
                tokio::spawn(async move {
                    let _permit = admission.syncs.enter(ada).await?;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    Ok::<_, ApiError>(())
                })
            })
            .collect();
        tokio::task::yield_now().await;
        let began = Instant::now();
        for _ in 0..10 {
            admission.syncs.enter(bob).await.unwrap();
        }
        assert!(began.elapsed().is_zero(), "{:?}", began.elapsed());
        let mut done = 0;
        for call in flood {
            done += usize::from(call.await.unwrap().is_ok());
        }
        assert!((10..=14).contains(&done), "two at a time, for as long as they wait: {done}");
        assert!(admission.syncs.users.lock().is_empty(), "nobody is remembered");
    }

    #[tokio::test(start_paused = true)]
    async fn sockets_of_one_network_do_not_keep_another_from_signing_in() {
        let config = AdmissionConfig {
            sign_ins_at_once_max: 1,
            sign_ins_waiting_per_network_max: 10,
            ..AdmissionConfig::default()
        };
        let admission = Arc::new(Admission::new(&config, 1));
        let from = |text: &str| ClientAddress(text.parse().unwrap());
        let first = admission.sign_ins.wait(from("192.0.2.1"), false).await.unwrap();
        let sign_in = |address: ClientAddress| {
            let sign_ins = admission.sign_ins.clone();
            tokio::spawn(async move { sign_ins.wait(address, false).await })
        };
        let mut flood: Vec<_> = (0..11).map(|host| sign_in(from(&format!("192.0.2.{host}")))).collect();
        tokio::task::yield_now().await;
        let ada = sign_in(from("198.51.100.1"));
        tokio::task::yield_now().await;
        let refused = flood.pop().unwrap().await.unwrap().unwrap_err().into_problem();
        assert_eq!(refused.code, ErrorCode::RateLimited, "the network has a limit");
        assert!(refused.retry_after.unwrap() >= 1);
        drop(first);
        let second = flood.remove(0).await.unwrap().unwrap();
        assert!(!ada.is_finished());
        drop(second);
        ada.await.unwrap().unwrap();
    }
}
