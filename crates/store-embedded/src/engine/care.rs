//! What goes on behind the commits: tables in memory are written to disk, tables on disk are merged, segments of the journal
//! become free. Two threads do it, so that no flush waits for a merge.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

use super::journal::{Reached, Shelf};
use super::trees::Trees;
use super::{EngineError, Panicked};
use crate::keys::Table;

/// What the threads, the writer and readers share.
pub(super) struct Care {
    pub(super) trees: Trees,
    shelf: Arc<Shelf>,
    /// The last commit with rows of a table in memory that takes no more of them.
    sealed: [AtomicU64; Table::COUNT],
    /// The last commit of which everything is on disk.
    persisted: [AtomicU64; Table::COUNT],
    /// Tables in memory that are to be written out although they are not full.
    overdue: [AtomicBool; Table::COUNT],
    todo: Mutex<Todo>,
    changed: Condvar,
    /// Why nothing can be written any more.
    failure: OnceLock<String>,
}

/// They end when this is dropped, after what they are just doing.
pub(super) struct Threads {
    care: Arc<Care>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Todo {
    flush: bool,
    merge: bool,
    end: bool,
}

impl Care {
    pub(super) fn new(trees: Trees, shelf: Arc<Shelf>) -> Self {
        let persisted = trees.persisted();
        Self {
            trees,
            shelf,
            sealed: Default::default(),
            persisted: persisted.map(AtomicU64::new),
            overdue: Default::default(),
            // There may be something left over from before.
            todo: Mutex::new(Todo { merge: true, ..Todo::default() }),
            changed: Condvar::new(),
            failure: OnceLock::new(),
        }
    }

    /// A table in memory is full: it is written out, up to this commit.
    pub(super) fn sealed(&self, table: usize, seqno: u64) {
        self.sealed[table].store(seqno, Ordering::Release);
        self.overdue[table].store(false, Ordering::Relaxed);
        self.ask();
    }

    /// There is something to do.
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
        tracing::error!(reason, "the engine takes no more writes");
        let _ = self.failure.set(reason);
    }

    pub(super) fn check(&self) -> Result<(), EngineError> {
        self.failure.get().map_or(Ok(()), |reason| Err(EngineError::Failed(reason.clone())))
    }

    /// Says whether there is still something to do, and not all is over.
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
            // Nothing sealed until then is left, whoever wrote it out.
            self.persisted[place].fetch_max(sealed, Ordering::AcqRel);
        }
        let persisted = self.persisted();
        self.shelf.release(persisted)?;
        if let Some(reached) = self.shelf.overdue() {
            for (place, overdue) in self.overdue.iter().enumerate() {
                overdue.store(persisted[place] < reached[place], Ordering::Relaxed);
            }
        }
        // Whoever wants it and finds none makes it, or fails.
        if let Err(error) = self.shelf.prepare_spare() {
            tracing::debug!(%error, "no segment of the journal was made ahead");
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
    pub(super) fn start(care: &Arc<Care>) -> std::io::Result<Self> {
        let mut threads = Self { care: Arc::clone(care), threads: Vec::new() };
        threads.spawn("godwit-flush", |todo| &mut todo.flush, Care::flush)?;
        threads.spawn("godwit-merge", |todo| &mut todo.merge, Care::merge)?;
        Ok(threads)
    }

    fn spawn(
        &mut self,
        name: &str,
        asked: fn(&mut Todo) -> &mut bool,
        work: fn(&Care) -> Result<(), EngineError>,
    ) -> std::io::Result<()> {
        let care = Arc::clone(&self.care);
        let run = move || {
            while care.wait(asked) {
                match catch_unwind(AssertUnwindSafe(|| work(&care))) {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => care.fail(&error),
                    Err(panic) => care.fail(&Panicked::new(&*panic)),
                }
            }
        };
        self.threads.push(std::thread::Builder::new().name(name.into()).spawn(run)?);
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.care.lock().end = true;
        self.care.changed.notify_all();
        for thread in self.threads.drain(..) {
            // What it panicked of was said when it did.
            let _ = thread.join();
        }
    }
}
