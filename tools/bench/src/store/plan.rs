//! The sizes and durations of measurements.

use std::time::{Duration, Instant};

use crate::figures::Latencies;

/// All sizes.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// The duration of each scenario.
    pub(super) time: Duration,
    /// Conversations, and messages per append.
    pub(super) appends: Vec<(usize, usize)>,
    /// Messages in the conversation whose history is read: more than one partition, for stores that partition logs.
    pub(super) history_messages: usize,
    /// Conversations of the users whose inboxes are read. Those of the last user are loaded too.
    pub(super) inboxes: Vec<usize>,
    /// Items per page.
    pub(super) page: usize,
}

impl Plan {
    pub(super) fn new(time: Duration) -> Self {
        Self {
            time,
            appends: vec![(1, 1), (1, 50), (16, 1), (16, 16), (64, 1), (64, 16)],
            history_messages: 5_000,
            inboxes: vec![10, 1_000],
            page: 50,
        }
    }
}

/// The measured time. The scenario starts a fifth of it earlier, so that the start-up is not measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) start: Instant,
    end: Instant,
}

impl Window {
    pub(super) fn after_warm_up(time: Duration) -> Self {
        let start = Instant::now() + time / 5;
        Self { start, end: start + time }
    }

    /// For scenarios that measure the first call.
    pub(super) fn at_once(time: Duration) -> Self {
        let start = Instant::now();
        Self { start, end: start + time }
    }

    /// Ends only after a first measurement, however long that takes.
    pub(super) fn is_over(self, now: Instant, measured: &Latencies) -> bool {
        now >= self.end && measured.count() > 0
    }
}
