//! What is shown to who reads: the last commit, and the tables that have it.
//!
//! A view keeps the tables that were there when it was opened. What is written out or merged later may leave out older
//! versions of rows: all that is in it was committed by then, so whoever sees the new tables sees the newer versions too.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tables::Tables;
use crate::keys::Table;

type Shown = [Arc<Tables>; Table::COUNT];

pub(super) struct Views {
    /// The number of the first commit that cannot be seen.
    next: AtomicU64,
    shown: Mutex<Arc<Shown>>,
}

/// One moment of the store.
pub(super) struct Moment {
    pub(super) before: u64,
    tables: Arc<Shown>,
}

impl Views {
    pub(super) fn new(tables: [Tables; Table::COUNT]) -> Self {
        Self { next: AtomicU64::new(0), shown: Mutex::new(Arc::new(tables.map(Arc::new))) }
    }

    /// Everything up to this commit can be seen.
    pub(super) fn publish(&self, seqno: u64) {
        self.next.store(seqno + 1, Ordering::Release);
    }

    /// Other tables have the rows of a tree from now on. Rows may be added to them after that, and not before.
    pub(super) fn show(&self, place: usize, tables: Tables) {
        let tables = Arc::new(tables);
        let replaced = std::mem::replace(&mut Arc::make_mut(&mut self.lock())[place], tables);
        // After the lock, for which those wait who read: files and memory may go with it.
        drop(replaced);
    }

    pub(super) fn now(&self) -> Moment {
        // Under the lock, so that the tables have every row of the moment, and lack only versions that it does not show.
        let shown = self.lock();
        let before = self.next.load(Ordering::Acquire);
        Moment { before, tables: Arc::clone(&shown) }
    }

    /// Of the versions of a row before this commit a merge keeps only the newest.
    pub(super) fn watermark(&self) -> u64 {
        self.next.load(Ordering::Acquire).saturating_sub(1)
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Shown>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Moment {
    pub(super) fn tables(&self, table: Table) -> &Tables {
        &self.tables[table.place()]
    }
}
