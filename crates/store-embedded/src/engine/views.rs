//! Which moments are being read, so that nobody drops what belongs to one of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The moments of the store that somebody looks at. A moment is the number of the first commit that is not part of it.
#[derive(Debug, Default)]
pub(super) struct Views {
    now: AtomicU64,
    open: Mutex<BTreeMap<u64, usize>>,
}

impl Views {
    /// Everything up to here can be read.
    pub(super) fn publish(&self, seqno: u64) {
        self.now.store(seqno + 1, Ordering::Release);
    }

    pub(super) fn open(&self) -> u64 {
        // Under the lock, so that nobody takes the moment for one that is not looked at.
        let mut open = self.lock();
        let moment = self.now.load(Ordering::Acquire);
        *open.entry(moment).or_default() += 1;
        moment
    }

    pub(super) fn close(&self, moment: u64) {
        let mut open = self.lock();
        if let Some(count) = open.get_mut(&moment) {
            *count -= 1;
            if *count == 0 {
                open.remove(&moment);
            }
        }
    }

    /// Of the versions of a row before this commit only the newest is needed.
    pub(super) fn watermark(&self) -> u64 {
        let open = self.lock();
        let oldest = open.keys().next().copied().unwrap_or_else(|| self.now.load(Ordering::Acquire));
        oldest.saturating_sub(1)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_view_holds_the_watermark() {
        let views = Views::default();
        assert_eq!(views.watermark(), 0);
        views.publish(9);
        assert_eq!(views.watermark(), 9);
        let (first, again) = (views.open(), views.open());
        views.publish(20);
        let later = views.open();
        assert_eq!((first, again, later, views.watermark()), (10, 10, 21, 9));
        views.close(first);
        assert_eq!(views.watermark(), 9, "one of two still looks");
        views.close(again);
        assert_eq!(views.watermark(), 20);
        views.close(later);
        assert_eq!(views.watermark(), 20);
    }
}
