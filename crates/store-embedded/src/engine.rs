//! The storage engine. This is the only file that names it, so that it can be exchanged.
//!
//! What the rest of the crate relies on:
//! - [`Engine::commit`] is atomic and durable: when it returns, the writes survive a crash; if it fails, the engine takes
//!   no more of them.
//! - A reader sees a write only when it is durable: the journal is synced before the tables in memory are changed.
//! - [`View`] is one moment. Nothing is held open by it but that moment, and it is dropped before the caller awaits.
//! - There is one writer, the committer's thread.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fjall::{
    AbstractTree, Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode, Readable, Snapshot,
};
use godwit_domain::ports::StoreError;
use thiserror::Error;

use crate::keys::{Key, KeyRange, Table};
use crate::options::Options;

/// Keys and values. Cheap to clone; short ones are kept in place.
pub(crate) use fjall::Slice as Bytes;

/// A row that a scan found.
pub(crate) type Row = (Bytes, Bytes);

#[derive(Debug, Error)]
pub(crate) enum EngineError {
    #[error(transparent)]
    Io(std::io::Error),
    #[error(transparent)]
    Engine(fjall::Error),
    #[error("the tables in memory were not written out within {} s", FLUSH_WAIT_MAX.as_secs())]
    FlushTimeout,
}

impl From<fjall::Error> for EngineError {
    fn from(error: fjall::Error) -> Self {
        match error {
            fjall::Error::Io(error) => Self::Io(error),
            error => Self::Engine(error),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

/// How long a clean stop waits for the tables in memory to be written out. A start without it takes longer, that is all.
const FLUSH_WAIT_MAX: Duration = Duration::from_secs(30);
/// How often those who wait for the engine's threads look again.
const WAIT_STEP: Duration = Duration::from_millis(2);
/// The engine stops a writer without a way out when it has 4 tables in memory waiting, or 30 runs of tables to be merged.
/// If its threads have died meanwhile (a full disk), that is for ever. We wait one step earlier, and look.
const SEALED_MEMTABLES_MAX: usize = 3;
const LEVEL_0_RUNS_MAX: usize = 28;

pub(crate) struct Engine {
    db: Database,
    log: Keyspace,
    index: Keyspace,
    state: Keyspace,
    folder: PathBuf,
    #[cfg(test)]
    pub(crate) keys_read: AtomicU64,
    pub(crate) keys_written: AtomicU64,
}

/// One moment of the store.
pub(crate) struct View<'a> {
    engine: &'a Engine,
    snapshot: Snapshot,
}

impl Engine {
    /// Opens the engine's folder, or makes it.
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, EngineError> {
        let db = Database::builder(path)
            .cache_size(options.cache_bytes)
            .max_journaling_size(options.journal_bytes_max.max(Options::JOURNAL_BYTES_LEAST))
            .worker_threads(options.worker_threads.max(1))
            .manual_journal_persist(true)
            .open()?;
        let keyspace = |name| {
            let options = || KeyspaceCreateOptions::default().max_memtable_size(options.memtable_bytes_max);
            db.keyspace(name, options)
        };
        let (log, index, state) = (keyspace("log")?, keyspace("index")?, keyspace("state")?);
        Ok(Self {
            db,
            log,
            index,
            state,
            folder: path.to_owned(),
            #[cfg(test)]
            keys_read: AtomicU64::new(0),
            keys_written: AtomicU64::new(0),
        })
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { engine: self, snapshot: self.db.snapshot() }
    }

    /// Writes rows, and removes those with no value. After an error nothing can be written any more.
    pub(crate) fn commit(
        &self,
        writes: impl ExactSizeIterator<Item = (Key, Option<Bytes>)>,
    ) -> Result<(), EngineError> {
        self.wait_for_room()?;
        self.keys_written.fetch_add(writes.len() as u64, Ordering::Relaxed);
        let mut batch = OwnedWriteBatch::with_capacity(self.db.clone(), writes.len())
            .durability(Some(PersistMode::SyncData));
        for (key, value) in writes {
            match value {
                Some(value) => batch.insert(self.keyspace(key.table), key.bytes, value),
                None => batch.remove(self.keyspace(key.table), key.bytes),
            }
        }
        Ok(batch.commit()?)
    }

    /// Writes out what is in memory, so that the next start has nothing to read again. Nothing may be committed after it.
    pub(crate) fn flush(&self) -> Result<(), EngineError> {
        for keyspace in self.keyspaces() {
            keyspace.rotate_memtable()?;
        }
        let began = Instant::now();
        while self.keyspaces().iter().any(|keyspace| keyspace.sealed_memtable_count() > 0) {
            self.check_alive()?;
            if began.elapsed() > FLUSH_WAIT_MAX {
                return Err(EngineError::FlushTimeout);
            }
            std::thread::sleep(WAIT_STEP);
        }
        self.check_alive()?;
        // Everything is in the tables, and nobody writes any more.
        empty_journal(&self.folder).map_err(EngineError::Io)
    }

    /// Bytes of the tables on disk.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.keyspaces().iter().map(|keyspace| keyspace.disk_space()).sum()
    }

    /// Files of the journal.
    pub(crate) fn journal_files(&self) -> usize {
        self.db.journal_count()
    }

    fn keyspace(&self, table: Table) -> &Keyspace {
        match table {
            Table::Log => &self.log,
            Table::Index => &self.index,
            Table::State => &self.state,
        }
    }

    fn keyspaces(&self) -> [&Keyspace; 3] {
        [&self.log, &self.index, &self.state]
    }

    fn wait_for_room(&self) -> Result<(), EngineError> {
        let is_full = |keyspace: &&Keyspace| {
            keyspace.sealed_memtable_count() >= SEALED_MEMTABLES_MAX
                || keyspace.tree.l0_run_count() >= LEVEL_0_RUNS_MAX
        };
        while self.keyspaces().iter().any(is_full) {
            self.check_alive()?;
            std::thread::sleep(WAIT_STEP);
        }
        Ok(())
    }

    /// Fails when one of the engine's threads has. This is how it tells.
    fn check_alive(&self) -> Result<(), EngineError> {
        Ok(self.db.persist(PersistMode::Buffer)?)
    }
}

impl View<'_> {
    pub(crate) fn get(&self, key: &Key) -> Result<Option<Bytes>, StoreError> {
        #[cfg(test)]
        self.engine.keys_read.fetch_add(1, Ordering::Relaxed);
        self.snapshot.get(self.engine.keyspace(key.table), &key.bytes).map_err(unreadable)
    }

    /// The first `limit` rows of a range, or the last ones, the last first.
    pub(crate) fn page(
        &self,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        if range.start >= range.end {
            return Ok(Vec::new());
        }
        let bounds = range.start.clone()..range.end.clone();
        let mut rows = self.snapshot.range(self.engine.keyspace(range.table), bounds);
        let next = || match direction {
            Direction::Forward => rows.next(),
            Direction::Backward => rows.next_back(),
        };
        let page: Result<Vec<Row>, _> =
            std::iter::from_fn(next).take(limit).map(fjall::Guard::into_inner).collect();
        #[cfg(test)]
        self.engine.keys_read.fetch_add(page.as_ref().map_or(0, Vec::len) as u64, Ordering::Relaxed);
        page.map_err(unreadable)
    }

    /// Visits the rows of a range, until it is told to stop. What comes after is not read.
    pub(crate) fn visit(
        &self,
        range: &KeyRange,
        direction: Direction,
        mut visitor: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        if range.start >= range.end {
            return Ok(());
        }
        let bounds = range.start.clone()..range.end.clone();
        let mut rows = self.snapshot.range(self.engine.keyspace(range.table), bounds);
        let mut next = || match direction {
            Direction::Forward => rows.next(),
            Direction::Backward => rows.next_back(),
        };
        while let Some(row) = next() {
            let (key, value) = row.into_inner().map_err(unreadable)?;
            #[cfg(test)]
            self.engine.keys_read.fetch_add(1, Ordering::Relaxed);
            if visitor(&key, &value)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn unreadable(error: fjall::Error) -> StoreError {
    StoreError::Unavailable { operation: "read", source: Box::new(error) }
}

/// Empties the journal in a folder of the engine.
///
/// At a start the engine reads its whole journal again, also the part that is in the tables already: a second or two for
/// a full one. It must not be removed: only with a journal does the engine ask its tables how far its own sequence numbers
/// have come.
fn empty_journal(folder: &Path) -> std::io::Result<()> {
    let mut newest = None;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_journal = path.extension().is_some_and(|extension| extension == "jnl");
        let number = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        newest = newest.max(number.filter(|_| is_journal).map(|number| (number, path)));
    }
    if let Some((_, path)) = newest {
        let file = File::options().write(true).open(path)?;
        file.set_len(0)?;
        file.sync_all()?;
    }
    Ok(())
}
