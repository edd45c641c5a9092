//! What came through Redis and was not taken: it was not from a server of this installation, or came a second time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metrics::counter;
use tokio::time::Instant;

use super::lock;

/// The log tells of them so often at most: whoever can write to Redis must not be able to fill the log.
const TOLD_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The signature is not of this installation, or of another channel.
    Unsigned,
    /// It was there before.
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

    /// Tells the log, now and then.
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
                "frames that came through Redis are not of servers with this cluster.secret, or came twice; \
                 somebody else can write to Redis"
            );
        }
    }
}
