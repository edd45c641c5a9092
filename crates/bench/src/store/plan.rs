//! How much is done for a measurement, and for how long.

use std::time::{Duration, Instant};

use crate::figures::Latencies;

/// The sizes of everything.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Each scenario is measured for so long.
    pub(super) time: Duration,
    /// Conversations, and messages in one append.
    pub(super) appends: Vec<(usize, usize)>,
    /// Messages of a conversation whose history is read: more than a partition has where logs are cut into partitions.
    pub(super) history_messages: usize,
    /// Conversations of the users whose inboxes are read. Those of the last are loaded too.
    pub(super) inboxes: Vec<usize>,
    /// Items of a page.
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

/// When a measurement counts. It begins a fifth of its time earlier, so that it does not measure how something begins.
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

    /// For what is different the first time, which is what is measured.
    pub(super) fn at_once(time: Duration) -> Self {
        let start = Instant::now();
        Self { start, end: start + time }
    }

    /// Not before something was measured, however long that takes.
    pub(super) fn is_over(self, now: Instant, measured: &Latencies) -> bool {
        now >= self.end && measured.count() > 0
    }
}
