//! A clock that the test sets, and the system clock.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use godwit_domain::ports::Clock;
use godwit_protocol::Timestamp;

/// Stands still until the test advances it, or advances by a fixed step with every read.
#[derive(Debug)]
pub struct TestClock {
    now_ms: AtomicI64,
    step_ms: i64,
}

impl TestClock {
    /// A clock that stands still at this time.
    pub const fn at(now: Timestamp) -> Self {
        Self::stepping(now, 0)
    }

    /// A clock that advances by `step_ms` with every read; the first read returns `start`.
    pub const fn stepping(start: Timestamp, step_ms: i64) -> Self {
        Self { now_ms: AtomicI64::new(start.as_millis()), step_ms }
    }

    /// May go backwards, as real clocks do.
    pub fn set(&self, now: Timestamp) {
        self.now_ms.store(now.as_millis(), Ordering::Relaxed);
    }

    /// A negative number goes backwards.
    pub fn advance_ms(&self, ms: i64) {
        self.now_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

/// A clock that stands still at 2027-01-15T08:00:00Z.
impl Default for TestClock {
    fn default() -> Self {
        Self::at(Timestamp::from_millis(1_800_000_000_000))
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now_ms.fetch_add(self.step_ms, Ordering::Relaxed))
    }
}

/// The system clock, for stores that other processes use too.
#[derive(Debug, Clone, Copy)]
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the one clock of the tests that reads it")]
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_advances_only_when_told() {
        let clock = TestClock::default();
        let start = clock.now();
        assert_eq!(clock.now(), start);
        clock.advance_ms(5);
        assert_eq!(clock.now(), start.plus_millis(5));
        clock.set(start);
        assert_eq!(clock.now(), start);
    }

    #[test]
    fn the_clock_can_advance_with_every_read() {
        let start = Timestamp::from_millis(1_000);
        let clock = TestClock::stepping(start, 10);
        assert_eq!([clock.now(), clock.now()], [start, start.plus_millis(10)]);
    }
}
