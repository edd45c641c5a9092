//! The time for which this node is sure to receive every hint from other nodes.
//!
//! A process that was suspended does not notice it, but its trust has expired when it resumes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Without trust, a state in memory may be used for this long after it was compared with the store.
const DOUBT_EVERY_MS: u64 = 250;
/// A single node has no other nodes to hear from, so it always has trust.
const FOR_EVER: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct Trust {
    began: Instant,
    /// Milliseconds since `began`.
    until_ms: AtomicU64,
    doubted_ms: AtomicU64,
}

impl Default for Trust {
    fn default() -> Self {
        Self { began: Instant::now(), until_ms: AtomicU64::new(FOR_EVER), doubted_ms: AtomicU64::new(0) }
    }
}

impl Trust {
    pub(super) fn renew(&self, time: Duration) {
        self.until_ms.store(self.after(time), Ordering::Relaxed);
    }

    /// True at most once every [`DOUBT_EVERY_MS`] while there is no trust.
    pub(super) fn is_over(&self) -> bool {
        let until = self.until_ms.load(Ordering::Relaxed);
        if until == FOR_EVER {
            return false;
        }
        let now = self.after(Duration::ZERO);
        let doubted = self.doubted_ms.load(Ordering::Relaxed);
        let is_over = now >= until && now >= doubted + DOUBT_EVERY_MS;
        is_over
            && self.doubted_ms.compare_exchange(doubted, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn after(&self, time: Duration) -> u64 {
        let ms = (self.began.elapsed() + time).as_millis();
        // The offset makes the first time without trust count: `doubted_ms` starts at 0.
        u64::try_from(ms).map_or(FOR_EVER - 1, |ms| ms + DOUBT_EVERY_MS)
    }
}
