//! Room on the disk.
//!
//! A write that finds no room ends the store: nobody knows what is on the disk. So the store refuses writes while there is still
//! room, answers reads all the time, and accepts writes again when there is more room. Below the limit it refuses what people store,
//! such as messages and new accounts. What keeps people connected, such as refreshed sessions and cursors, and what takes
//! something away, such as deletions, continue until half of the limit. The rest is for the journal and for the tables that are
//! being merged. If these find no room nevertheless, every write is refused until they do.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Kind, State};

/// The least time between two looks at the disk.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(crate) struct Disk {
    folder: PathBuf,
    looked_at: Option<Instant>,
    was_refusing: bool,
    /// Tables cannot be written.
    is_stuck: bool,
    state: Arc<State>,
}

impl Disk {
    pub(crate) const fn new(folder: PathBuf, state: Arc<State>) -> Self {
        Self { folder, looked_at: None, was_refusing: false, is_stuck: false, state }
    }

    /// Looks how much room there is, unless it has done so a moment ago. `is_stuck` says whether the engine lacks room.
    pub(crate) fn look(&mut self, is_stuck: bool) {
        self.is_stuck = is_stuck;
        if self.looked_at.is_none_or(|at| at.elapsed() >= LOOK_INTERVAL) {
            self.looked_at = Some(Instant::now());
            // A file system that cannot say it is not refused for that.
            let free = rustix::fs::statvfs(&self.folder)
                .map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
            self.state.free_bytes.store(free, Ordering::Relaxed);
        }
        let refuses = self.refuses(Kind::Content);
        if refuses != self.was_refusing {
            let free_mib = self.state.free_bytes.load(Ordering::Relaxed) / (1024 * 1024);
            if refuses {
                tracing::error!(
                    free_mib,
                    "the disk is almost full: nothing new is stored until there is room"
                );
            } else {
                tracing::info!(free_mib, "the disk has room again");
            }
            self.was_refusing = refuses;
        }
    }

    pub(crate) fn refuses(&self, kind: Kind) -> bool {
        let free = self.state.free_bytes.load(Ordering::Relaxed);
        let min = self.state.free_bytes_min.load(Ordering::Relaxed);
        match kind {
            Kind::Content => self.is_stuck || free < min,
            Kind::Upkeep => self.is_stuck || free < min / 2,
            Kind::Transfer => false,
        }
    }
}
