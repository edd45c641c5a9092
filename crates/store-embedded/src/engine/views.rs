//! What readers see: the number of the last commit, and the tables that have its rows.
//!
//! A view keeps the tables that it was opened with. A flush or a merge may drop older versions of rows from the tables that it
//! writes. It keeps every version that a view opened afterwards can ask for, because all its rows were committed by then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tables::Tables;
use crate::engine::key::Table;

type Shown = [Arc<Tables>; Table::COUNT];

pub(super) struct Views {
    /// The number of the first commit that is not visible.
    next: AtomicU64,
    shown: Mutex<Arc<Shown>>,
}

/// A snapshot: the commits before one number, and tables that have all of them.
pub(super) struct Moment {
    pub(super) before: u64,
    tables: Arc<Shown>,
}

impl Views {
    pub(super) fn new(tables: [Tables; Table::COUNT]) -> Self {
        Self { next: AtomicU64::new(0), shown: Mutex::new(Arc::new(tables.map(Arc::new))) }
    }

    /// Makes the commits up to this one visible.
    pub(super) fn publish(&self, seqno: u64) {
        self.next.store(seqno + 1, Ordering::Release);
    }

    /// Replaces the tables of a tree. Rows are inserted into its new memtable only after that.
    pub(super) fn show(&self, place: usize, tables: Tables) {
        let tables = Arc::new(tables);
        let replaced = std::mem::replace(&mut Arc::make_mut(&mut self.lock())[place], tables);
        // Dropped after the lock is released, because it may free files and memory, and readers wait for the lock.
        drop(replaced);
    }

    pub(super) fn now(&self) -> Moment {
        // Read under the lock, so that these tables have every row that this number shows.
        let shown = self.lock();
        let before = self.next.load(Ordering::Acquire);
        Moment { before, tables: Arc::clone(&shown) }
    }

    /// A merge keeps only the newest of the versions of a row that are older than this commit.
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
