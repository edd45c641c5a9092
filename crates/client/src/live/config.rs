//! How a live session behaves.

use std::time::Duration;

use super::ResumeState;
use crate::SocketConfig;

#[derive(Debug, Clone)]
pub struct LiveConfig {
    /// Where an earlier process was; see [`Updates::state`](super::Updates::state).
    pub resume: Option<ResumeState>,
    /// Where the conversations begin that are there on a first start.
    pub start: StartAt,
    /// Tells the server what the application has taken, this long after the first entry that it took. `None` leaves it
    /// to [`Live::delivered`](super::Live::delivered).
    pub acknowledge_after: Option<Duration>,
    /// Updates that wait to be taken. When there are more, entries are not kept but read again later.
    pub updates_buffered_max: usize,
    /// Messages that were given to be sent and are not acknowledged. Further ones wait with their callers.
    pub sends_queued_max: usize,
    /// Messages on their way at once, each in another conversation: a conversation has one at a time, which is what
    /// keeps their order.
    pub sends_in_flight_max: usize,
    /// How long a message may go without an acknowledgement before it is sent again, after a wait of `backoff`. The client
    /// id makes it the same message.
    pub send_timeout: Duration,
    /// Asks for what changed this often, also when nothing seems to be missing: an event that was lost between the
    /// servers leaves no trace until the next one.
    pub sync_every: Option<Duration>,
    pub backoff: Backoff,
    /// Its `access_token` is not used: the session signs in with that of the [`Http`](crate::Http).
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

/// Where the conversations begin that are there on a first start. Those that come later begin at their beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartAt {
    /// With what comes next: older messages are read as history, when somebody wants to see them.
    #[default]
    Head,
    /// With the first entry of the log.
    Beginning,
}

/// How long to wait before another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Before the first attempt that follows a failure.
    pub first: Duration,
    /// It doubles up to this.
    pub max: Duration,
    /// A connection that lasted this long makes the waits begin anew.
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
    /// The wait after `failures` failures in a row. `jitter` from 0 to 1 spreads the upper half of it, so that clients
    /// that lost the same server do not come back as one.
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
