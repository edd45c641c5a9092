//! Flush and compaction, behind the commits. Two threads do it, so that no flush waits for a merge.
//!
//! ```text
//! commit ── memtable sealed, or segment ───▶ flush thread               merge thread
//!           half full                        │ flush memtables              ▲
//!                                            │ free journal segments        │
//!                                            │ mark overdue trees           │
//!                                            │ prepare a spare segment      │
//!                                            └── a table was written ───────┘ merge until nothing is due
//! ```
//!
//! A journal segment cannot be freed while a tree has rows of it only in memory. So when the journal exceeds its size limit, the
//! flush thread marks the trees that hold back the oldest segment as *overdue*, and the next commit seals their memtables
//! although they are not full.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

use super::journal::{Reached, Shelf};
use super::trees::Trees;
use super::{EngineError, Panicked};
use crate::engine::key::Table;

/// What the writer, the readers and the two threads share.
pub(super) struct Maintenance {
    pub(super) trees: Trees,
    shelf: Arc<Shelf>,
    /// The last commit that has rows in a sealed memtable, for each tree.
    sealed: [AtomicU64; Table::COUNT],
    /// The commit up to which all rows are in tables on disk, for each tree.
    persisted: [AtomicU64; Table::COUNT],
    /// The trees whose memtable the next commit has to seal although it is not full.
    overdue: [AtomicBool; Table::COUNT],
    todo: Mutex<Todo>,
    changed: Condvar,
    /// Why the engine refuses commits. Set once, by the first failure.
    failure: OnceLock<String>,
}

/// The two threads. Dropping it ends them after the flush or merge that they are doing.
pub(super) struct Threads {
    maintenance: Arc<Maintenance>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Todo {
    flush: bool,
    merge: bool,
    end: bool,
}

impl Maintenance {
    pub(super) fn new(trees: Trees, shelf: Arc<Shelf>) -> Self {
        let persisted = trees.persisted();
        Self {
            trees,
            shelf,
            sealed: Default::default(),
            persisted: persisted.map(AtomicU64::new),
            overdue: Default::default(),
            // A merge may be due from before the start.
            todo: Mutex::new(Todo { merge: true, ..Todo::default() }),
            changed: Condvar::new(),
            failure: OnceLock::new(),
        }
    }

    /// A memtable of a tree was sealed, with rows up to this commit: it can be flushed.
    pub(super) fn sealed(&self, table: usize, seqno: u64) {
        self.sealed[table].store(seqno, Ordering::Release);
        self.overdue[table].store(false, Ordering::Relaxed);
        self.ask();
    }

    /// Wakes the flush thread.
    pub(super) fn ask(&self) {
        self.lock().flush = true;
        self.changed.notify_all();
    }

    pub(super) fn is_overdue(&self, table: usize) -> bool {
        self.overdue[table].load(Ordering::Relaxed)
    }

    /// Files of the journal.
    pub(super) fn journal_files(&self) -> usize {
        self.shelf.files()
    }

    pub(super) fn persisted(&self) -> Reached {
        self.persisted.each_ref().map(|seqno| seqno.load(Ordering::Acquire))
    }

    pub(super) fn fail(&self, reason: &impl ToString) {
        let reason = reason.to_string();
        tracing::error!(reason, "the engine accepts no more writes");
        let _ = self.failure.set(reason);
    }

    pub(super) fn check(&self) -> Result<(), EngineError> {
        self.failure.get().map_or(Ok(()), |reason| Err(EngineError::Failed(reason.clone())))
    }

    /// Waits until there is work of this kind. Returns false when the thread has to end.
    fn wait(&self, asked: fn(&mut Todo) -> &mut bool) -> bool {
        let todo = self.lock();
        let is_idle = |todo: &mut Todo| !todo.end && !*asked(todo);
        let mut todo = self.changed.wait_while(todo, is_idle).unwrap_or_else(PoisonError::into_inner);
        *asked(&mut todo) = false;
        !todo.end && self.failure.get().is_none()
    }

    fn flush(&self) -> Result<(), EngineError> {
        for place in 0..Table::COUNT {
            let sealed = self.sealed[place].load(Ordering::Acquire);
            if self.trees.flush(place)? {
                self.lock().merge = true;
                self.changed.notify_all();
            }
            // `sealed` was read before the flush, so every memtable sealed until then is on disk.
            self.persisted[place].fetch_max(sealed, Ordering::AcqRel);
        }
        let persisted = self.persisted();
        self.shelf.release(persisted)?;
        if let Some(reached) = self.shelf.overdue() {
            for (place, overdue) in self.overdue.iter().enumerate() {
                overdue.store(persisted[place] < reached[place], Ordering::Relaxed);
            }
        }
        // Without a spare segment the commit that needs one creates it, or fails.
        if let Err(error) = self.shelf.prepare_spare() {
            tracing::debug!(%error, "could not preallocate a journal segment");
        }
        Ok(())
    }

    fn merge(&self) -> Result<(), EngineError> {
        let mut is_busy = true;
        while is_busy && !self.lock().end {
            is_busy = false;
            for place in 0..Table::COUNT {
                is_busy |= self.trees.merge(place)?;
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Todo> {
        self.todo.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Threads {
    pub(super) fn start(maintenance: &Arc<Maintenance>) -> std::io::Result<Self> {
        let mut threads = Self { maintenance: Arc::clone(maintenance), threads: Vec::new() };
        threads.spawn("godwit-flush", |todo| &mut todo.flush, Maintenance::flush)?;
        threads.spawn("godwit-merge", |todo| &mut todo.merge, Maintenance::merge)?;
        Ok(threads)
    }

    fn spawn(
        &mut self,
        name: &str,
        asked: fn(&mut Todo) -> &mut bool,
        work: fn(&Maintenance) -> Result<(), EngineError>,
    ) -> std::io::Result<()> {
        let maintenance = Arc::clone(&self.maintenance);
        let run = move || {
            while maintenance.wait(asked) {
                match catch_unwind(AssertUnwindSafe(|| work(&maintenance))) {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => maintenance.fail(&error),
                    Err(panic) => maintenance.fail(&Panicked::new(&*panic)),
                }
            }
        };
        self.threads.push(std::thread::Builder::new().name(name.into()).spawn(run)?);
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.maintenance.lock().end = true;
        self.maintenance.changed.notify_all();
        for thread in self.threads.drain(..) {
            // The panic has been logged by `fail`.
            let _ = thread.join();
        }
    }
}
