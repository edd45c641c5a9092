//! Shows progress while a person waits.

use std::io::Write as _;
use std::time::{Duration, Instant};

/// Writes directly, because the test harness would capture the text until a test fails.
pub(super) fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "Cassandra: {what}");
}

/// Prints progress every few seconds.
pub(super) struct Ticker {
    began: Instant,
    spoke: Instant,
}

const SILENCE_MAX: Duration = Duration::from_secs(5);

impl Ticker {
    pub(super) fn start() -> Self {
        Self { began: Instant::now(), spoke: Instant::now() }
    }

    pub(super) fn seconds(&self) -> u64 {
        self.began.elapsed().as_secs()
    }

    pub(super) fn tick(&mut self, what: impl FnOnce() -> String) {
        if self.spoke.elapsed() >= SILENCE_MAX {
            self.spoke = Instant::now();
            say(&format!("{}, {} s", what(), self.seconds()));
        }
    }
}
