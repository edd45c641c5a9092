//! How much is done at once of what costs most, and comes all at once when a server is lost or attacked: signing in, asking
//! what was missed, and hashing passwords ([`passwords`]).
//!
//! Who finds no place waits for one, in turn; who waits too long is told to come back, each at another time. So those who
//! are let in are served at the speed of the store, and everybody else of the server is not slowed down by the rest.

pub mod passwords;

use std::sync::Arc;
use std::time::Duration;

use godwit_protocol::ErrorCode;
use metrics::{counter, histogram};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use self::passwords::{PasswordQueue, PasswordQueueLimits};
use crate::problem::ApiError;

/// Who is turned away comes back within this time.
const RETRY_SPREAD_S: u32 = 8;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdmissionConfig {
    /// Sockets that sign in at once. Further ones wait.
    pub sign_ins_at_once_max: usize,
    /// `sync` that is answered at once. Further ones wait.
    pub syncs_at_once_max: usize,
    /// Passwords that wait to be hashed: registrations, sign-ins and password changes. How many are hashed at once is
    /// `auth.passwords.concurrent_max`.
    pub passwords_waiting_max: usize,
    /// The same from one network (IPv4 /24, IPv6 /48). Networks take turns.
    pub passwords_waiting_per_network_max: usize,
    /// How long one waits before being told to come back. Who would have to wait longer for a password is told at once.
    pub wait_ms: u64,
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
    pub sign_ins: Gate,
    pub syncs: Gate,
    pub passwords: Arc<PasswordQueue>,
}

impl Admission {
    pub fn new(config: &AdmissionConfig, passwords_at_once_max: usize) -> Self {
        let wait_max = Duration::from_millis(config.wait_ms);
        let gate = |name, places| Gate { name, places: Arc::new(Semaphore::new(places)), wait_max };
        Self {
            sign_ins: gate("sign_in", config.sign_ins_at_once_max),
            syncs: gate("sync", config.syncs_at_once_max),
            passwords: PasswordQueue::new(PasswordQueueLimits {
                at_once_max: passwords_at_once_max,
                waiting_max: config.passwords_waiting_max,
                waiting_per_network_max: config.passwords_waiting_per_network_max,
                wait_max,
            }),
        }
    }
}

#[derive(Debug)]
pub struct Gate {
    name: &'static str,
    places: Arc<Semaphore>,
    wait_max: Duration,
}

/// Given back when it is dropped.
#[derive(Debug)]
pub struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Gate {
    pub async fn enter(&self) -> Result<Place, ApiError> {
        if let Ok(permit) = self.places.clone().try_acquire_owned() {
            return Ok(Place { _permit: permit });
        }
        let began = Instant::now();
        let waited = timeout(self.wait_max, self.places.clone().acquire_owned()).await;
        histogram!("godwit_admission_wait_seconds", "for" => self.name).record(began.elapsed());
        // The inner error would mean that nobody is let in any more, which nobody decides.
        if let Ok(Ok(permit)) = waited {
            return Ok(Place { _permit: permit });
        }
        counter!("godwit_admission_refused_total", "for" => self.name).increment(1);
        Err(ApiError::new(ErrorCode::Unavailable)
            .with_detail("too many at once")
            .with_retry_after(rand::random_range(1..=RETRY_SPREAD_S)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn those_for_whom_there_is_no_place_wait_in_turn_and_not_for_ever() {
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
        // One does not stand in the way of the other.
        admission.syncs.enter().await.unwrap();
    }
}
