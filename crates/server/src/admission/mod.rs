//! Admission control: concurrency limits for expensive requests that arrive in bursts when a server is lost or attacked:
//! sign-ins, `sync`, and password hashes ([`passwords`]).
//!
//! A caller that finds no free permit waits, first come first served. A caller that waits too long is told to retry, each
//! after a different time. The admitted work therefore runs at the speed of the store, and the rest of the server does not
//! slow down.

pub mod passwords;

use std::sync::Arc;
use std::time::Duration;

use godwit_protocol::ErrorCode;
use metrics::{counter, histogram};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use self::passwords::{PasswordQueue, PasswordQueueLimits};
use crate::config::settings::settings;
use crate::problem::ApiError;

/// Refused callers are told to retry after a random part of this time.
const RETRY_SPREAD_S: u32 = 8;

settings! {
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct AdmissionConfig {
        /// Sockets that may sign in at the same time. Further ones wait.
        pub sign_ins_at_once_max: usize,
        /// `sync` requests that may run at the same time. Further ones wait.
        pub syncs_at_once_max: usize,
        /// Passwords that may wait to be hashed, for registrations, sign-ins and password changes.
        /// `auth.passwords.concurrent_max` says how many are hashed at the same time.
        pub passwords_waiting_max: usize,
        /// The same per network (IPv4 /24, IPv6 /48). Networks take turns.
        pub passwords_waiting_per_network_max: usize,
        /// How long a request waits before it is refused. A password that would have to wait longer is refused at once.
        pub wait_ms: u64,
    }
}

impl Default for AdmissionConfig {
    fn default() -> Self {
        Self {
            sign_ins_at_once_max: 32,
            syncs_at_once_max: 16,
            passwords_waiting_max: 1_024,
            passwords_waiting_per_network_max: 128,
            wait_ms: 5_000,
        }
    }
}

#[derive(Debug)]
pub struct Admission {
    pub sign_ins: ConcurrencyLimit,
    pub syncs: ConcurrencyLimit,
    pub passwords: Arc<PasswordQueue>,
}

impl Admission {
    pub fn new(config: &AdmissionConfig, passwords_at_once_max: usize) -> Self {
        let wait_max = Duration::from_millis(config.wait_ms);
        let limit = |name, max| ConcurrencyLimit { name, permits: Arc::new(Semaphore::new(max)), wait_max };
        Self {
            sign_ins: limit("sign_in", config.sign_ins_at_once_max),
            syncs: limit("sync", config.syncs_at_once_max),
            passwords: PasswordQueue::new(PasswordQueueLimits {
                at_once_max: passwords_at_once_max,
                waiting_max: config.passwords_waiting_max,
                waiting_per_network_max: config.passwords_waiting_per_network_max,
                wait_max,
            }),
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

    #[tokio::test(start_paused = true)]
    async fn callers_without_a_permit_wait_in_turn_and_not_for_ever() {
        let config =
            AdmissionConfig { sign_ins_at_once_max: 1, wait_ms: 1_000, ..AdmissionConfig::default() };
        let admission = Arc::new(Admission::new(&config, 1));
        let first = admission.sign_ins.enter().await.unwrap();
        let second = tokio::spawn({
            let admission = admission.clone();
            async move { admission.sign_ins.enter().await }
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        drop(first);
        let _second = second.await.unwrap().unwrap();
        let refused = admission.sign_ins.enter().await.unwrap_err().into_problem();
        assert_eq!(refused.code, ErrorCode::Unavailable);
        assert!((1..=RETRY_SPREAD_S).contains(&refused.retry_after.unwrap()));
        // The two limits are independent.
        admission.syncs.enter().await.unwrap();
    }
}
