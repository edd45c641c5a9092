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
use std::time::Duration;

use super::journal::{Reached, Shelf};
use super::trees::{Trees, lacks_room};
use super::{EngineError, Panicked};
use crate::engine::key::Table;

/// How long a flush or a merge that found no room waits until it tries again.
const ROOM_INTERVAL: Duration = if cfg!(test) { Duration::from_millis(20) } else { Duration::from_secs(2) };

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
    /// Whether the last attempt of the thread found no room on the disk.
    flush_lacks_room: AtomicBool,
    merge_lacks_room: AtomicBool,
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
            flush_lacks_room: AtomicBool::new(false),
            merge_lacks_room: AtomicBool::new(false),
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

    pub(super) fn flush_lacks_room(&self) -> bool {
        self.flush_lacks_room.load(Ordering::Relaxed)
    }

    pub(super) fn merge_lacks_room(&self) -> bool {
        self.merge_lacks_room.load(Ordering::Relaxed)
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

    /// Waits a while before the work is tried again, unless the thread has to end.
    fn pause(&self) {
        let todo = self.lock();
        drop(self.changed.wait_timeout_while(todo, ROOM_INTERVAL, |todo| !todo.end));
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
        match self.shelf.prepare_spare() {
            Ok(()) => Ok(()),
            Err(error) if lacks_room(&error) => Err(EngineError::NoRoom(error)),
            Err(error) => {
                tracing::debug!(%error, "could not preallocate a journal segment");
                Ok(())
            }
        }
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
        threads.spawn(Work {
            thread: "godwit-flush",
            asked: |todo| &mut todo.flush,
            run: Maintenance::flush,
            lacks_room: |maintenance| &maintenance.flush_lacks_room,
        })?;
        threads.spawn(Work {
            thread: "godwit-merge",
            asked: |todo| &mut todo.merge,
            run: Maintenance::merge,
            lacks_room: |maintenance| &maintenance.merge_lacks_room,
        })?;
        Ok(threads)
    }

    fn spawn(&mut self, work: Work) -> std::io::Result<()> {
        let maintenance = Arc::clone(&self.maintenance);
        let name = work.thread.to_owned();
        let run = move || {
            while maintenance.wait(work.asked) {
                work.once(&maintenance);
            }
        };
        self.threads.push(std::thread::Builder::new().name(name).spawn(run)?);
        Ok(())
    }
}

/// The work of one thread.
struct Work {
    thread: &'static str,
    asked: fn(&mut Todo) -> &mut bool,
    run: fn(&Maintenance) -> Result<(), EngineError>,
    lacks_room: fn(&Maintenance) -> &AtomicBool,
}

impl Work {
    fn once(&self, maintenance: &Maintenance) {
        let lacks_room = (self.lacks_room)(maintenance);
        match catch_unwind(AssertUnwindSafe(|| (self.run)(maintenance))) {
            Ok(Ok(())) => {
                if lacks_room.swap(false, Ordering::Relaxed) {
                    tracing::info!(thread = self.thread, "tables can be written again");
                }
            }
            Ok(Err(EngineError::NoRoom(error))) => {
                if !lacks_room.swap(true, Ordering::Relaxed) {
                    tracing::error!(thread = self.thread, %error, "no room to write tables; trying again until there is");
                }
                maintenance.pause();
                *(self.asked)(&mut maintenance.lock()) = true;
            }
            Ok(Err(error)) => maintenance.fail(&error),
            Err(panic) => maintenance.fail(&Panicked::new(&*panic)),
        }
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
