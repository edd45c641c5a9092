//! The configuration of a live session.

use std::time::Duration;

use super::ResumeState;
use crate::SocketConfig;

#[derive(Debug, Clone)]
pub struct LiveConfig {
    /// The state of an earlier process; see [`Updates::state`](super::Updates::state).
    pub resume: Option<ResumeState>,
    /// Where existing conversations begin on a first start.
    pub start: StartAt,
    /// The delay between taking an entry and acknowledging delivery to the server. Later entries share the acknowledgement.
    /// `None` leaves it to [`Live::delivered`](super::Live::delivered).
    pub acknowledge_after: Option<Duration>,
    /// The capacity of the queue of updates. When it is full, entries are dropped and read again later.
    pub updates_buffered_max: usize,
    /// The number of messages without an acknowledgement. Callers that send more wait.
    pub sends_queued_max: usize,
    /// The number of messages in flight. Each conversation has at most one, which preserves the order.
    pub sends_in_flight_max: usize,
    /// The time without an acknowledgement after which a message is sent again, following a wait of `backoff`. The client id
    /// makes the retry idempotent.
    pub send_timeout: Duration,
    /// The interval of additional syncs: an event that is lost between servers leaves no gap until the next event.
    pub sync_every: Option<Duration>,
    pub backoff: Backoff,
    /// The session ignores its `access_token` and signs in with the token of the [`Http`](crate::Http).
    pub socket: SocketConfig,
}

impl Default for LiveConfig {
    fn default() -> Self {
        Self {
            resume: None,
            start: StartAt::Head,
            acknowledge_after: Some(Duration::from_millis(200)),
            updates_buffered_max: 1_000,
            sends_queued_max: 256,
            sends_in_flight_max: 16,
            send_timeout: Duration::from_secs(5),
            sync_every: Some(Duration::from_secs(15 * 60)),
            backoff: Backoff::default(),
            socket: SocketConfig::default(),
        }
    }
}

/// Where existing conversations begin on a first start. Later ones begin at their first entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartAt {
    /// At the head: the application reads older messages as history when it shows them.
    #[default]
    Head,
    /// At the first entry of the log.
    Beginning,
}

/// The wait before another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first failure.
    pub first: Duration,
    /// The wait doubles up to this value.
    pub max: Duration,
    /// A connection that lasted this long resets the wait.
    pub stable_after: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(500),
            max: Duration::from_secs(30),
            stable_after: Duration::from_secs(10),
        }
    }
}

impl Backoff {
    /// The wait after `failures` consecutive failures. `jitter` from 0 to 1 randomizes its upper half, so that clients that
    /// lost the same server do not all return at once.
    pub(super) fn delay(&self, failures: u32, jitter: f64) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let full = self.first.saturating_mul(1 << doublings).min(self.max);
        full.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
    }

    pub(super) fn random_delay(&self, failures: u32) -> Duration {
        self.delay(failures, rand::random())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_and_are_spread() {
        let backoff = Backoff {
            first: Duration::from_millis(100),
            max: Duration::from_secs(1),
            stable_after: Duration::ZERO,
        };
        let longest = [1, 2, 3, 4, 5, 1_000].map(|failures| backoff.delay(failures, 1.0).as_millis());
        assert_eq!(longest, [100, 200, 400, 800, 1_000, 1_000]);
        assert_eq!(backoff.delay(3, 0.0).as_millis(), 200);
    }
}
