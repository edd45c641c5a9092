//! Counts rejected frames: those that no server of this installation has signed, and replays.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metrics::counter;
use tokio::time::Instant;

use super::lock;

/// The minimum interval between two log lines, so that an attacker who can write to Redis cannot flood the log.
const TOLD_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The signature is missing, belongs to another installation, or is for another channel.
    Unsigned,
    /// The frame was received before.
    Replayed,
}

impl Refusal {
    const fn reason(self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::Replayed => "replayed",
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Refusals {
    count: AtomicU64,
    told_at: Mutex<Option<Instant>>,
}

impl Refusals {
    pub(super) fn add(&self, refusal: Refusal) {
        counter!("godwit_cluster_frames_refused_total", "reason" => refusal.reason()).increment(1);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Logs the number of rejected frames, at most once per [`TOLD_EVERY`].
    pub(super) fn tell(&self) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut told_at = lock(&self.told_at);
        if told_at.is_none_or(|at| at.elapsed() >= TOLD_EVERY) {
            *told_at = Some(Instant::now());
            let refused = self.count.swap(0, Ordering::Relaxed);
            tracing::warn!(
                refused,
                "rejected frames from Redis that were repeated or not signed with this cluster.secret; \
                 someone else can write to Redis"
            );
        }
    }
}
