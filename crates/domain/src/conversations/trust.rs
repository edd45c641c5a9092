//! How long it is certain that other nodes are heard.
//!
//! A process that was stopped for a while, and goes on, does not know it: but its time has passed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// While it is not certain, what is in memory is used for this long after it was compared with the store.
const DOUBT_EVERY_MS: u64 = 250;
/// A node that is alone hears all there is.
const FOR_EVER: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct Trust {
    began: Instant,
    /// Milliseconds after the beginning.
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

    /// True once every [`DOUBT_EVERY_MS`].
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
        // One more, so that the first moment is after the doubt that never was.
        u64::try_from(ms).map_or(FOR_EVER - 1, |ms| ms + DOUBT_EVERY_MS)
    }
}
