//! Admission control: concurrency limits for expensive requests that arrive in bursts when a server is lost or attacked:
//! sign-ins of sockets and password hashes ([`fair`]), and `sync`.
//!
//! A caller that finds no free permit waits. Signed-in users wait for a `sync` in the order of their requests. Callers that are
//! not authenticated yet wait in a queue that is fair to every network. A caller that waits too long is told to retry, each
//! after a different time. So the admitted work runs at the speed of the store, and the rest of the server does not slow down.

pub mod fair;

use std::sync::Arc;
use std::time::Duration;

use godwit_protocol::ErrorCode;
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
            syncs: ConcurrencyLimit {
                name: "sync",
                permits: Arc::new(Semaphore::new(config.syncs_at_once_max)),
                wait_max,
            },
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

/// Limits concurrent calls.
#[derive(Debug)]
pub struct ConcurrencyLimit {
    name: &'static str,
    permits: Arc<Semaphore>,
    wait_max: Duration,
}

/// Admits one call until it is dropped.
#[derive(Debug)]
pub struct Permit {
    _permit: OwnedSemaphorePermit,
}

impl ConcurrencyLimit {
    pub async fn enter(&self) -> Result<Permit, ApiError> {
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            return Ok(Permit { _permit: permit });
        }
        let began = Instant::now();
        let waited = timeout(self.wait_max, self.permits.clone().acquire_owned()).await;
        histogram!("godwit_admission_wait_seconds", "for" => self.name).record(began.elapsed());
        // The inner error is impossible: no code closes the semaphore.
        if let Ok(Ok(permit)) = waited {
            return Ok(Permit { _permit: permit });
        }
        counter!("godwit_admission_refused_total", "for" => self.name).increment(1);
        Err(ApiError::new(ErrorCode::Unavailable)
            .with_detail("too many requests at once")
            .with_retry_after(rand::random_range(1..=RETRY_SPREAD_S)))
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
        let first = admission.syncs.enter().await.unwrap();
        let second = tokio::spawn({
            let admission = admission.clone();
            async move { admission.syncs.enter().await }
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        drop(first);
        let _second = second.await.unwrap().unwrap();
        let refused = admission.syncs.enter().await.unwrap_err().into_problem();
        assert_eq!(refused.code, ErrorCode::Unavailable);
        assert!((1..=RETRY_SPREAD_S).contains(&refused.retry_after.unwrap()));
        // The limits are independent.
        admission.sign_ins.wait(ClientAddress::UNKNOWN, false).await.unwrap();
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
