//! The storage engine: a write-ahead journal and log-structured merge trees (the crate `lsm-tree`). Nothing outside this
//! folder names that crate, so the engine can be exchanged.
//!
//! ```text
//!  committer's thread                                  readers
//!        │ commit(rows)                                   │ view()
//!        ▼                                                ▼
//!  1 journal: append, fsync                   views: (last commit, tables)
//!  2 memtables: insert                                    │
//!  3 views: publish the sequence number ──────────────────┘
//!        │ a memtable is full: seal it, begin another
//!        ▼
//!  flush thread: sealed memtable ──▶ sorted table on disk; then the journal segments below it are free
//!        ▼
//!  merge thread: sorted tables ──▶ fewer, larger sorted tables (compaction)
//! ```
//!
//! There are three trees, one per [`Table`] of the key layout, and one journal for all of them. Every commit has a sequence
//! number (`seqno`).
//!
//! - [`journal`]: makes every commit durable before anybody can read it
//! - [`trees`]: the trees of memtables and sorted tables
//! - [`maintenance`]: the two threads that flush memtables, merge tables and free journal segments
//! - [`tables`], [`views`]: what one reader reads, and which commits it may see
//! - [`key`]: tables, keys and ranges
//!
//! The rest of the crate relies on these properties:
//! - [`Engine::commit`] is atomic and durable. When it returns, the rows survive a crash. When it fails, the engine refuses all
//!   later commits, because nobody knows what the disk has.
//! - A reader sees a commit only after it is durable: the journal is synced before the memtables change.
//! - A flush or a merge that finds no room on the disk is repeated until it succeeds. [`Engine::is_stuck`] says that commits
//!   should not be made meanwhile, because they would only gather in memory.
//! - A [`View`] is a snapshot. It keeps memtables and files of its moment alive, so a caller drops it before an await.
//! - There is one writer, the committer's thread.
//!
//! **Recovery.** [`Engine::open`] opens the trees, asks each up to which `seqno` its tables on disk are complete, and replays the
//! journal: it inserts every row with a higher `seqno` into the memtables and skips the others. A record that is not whole ends
//! the journal; its commit was never acknowledged. After a clean stop ([`Engine::flush`]) there is nothing to replay.
//!
//! **Backpressure.** A commit waits while a tree has [`SEALED_MEMTABLES_MAX`] memtables to flush or [`LEVEL_0_RUNS_MAX`] runs of
//! tables to merge.

mod journal;
mod key;
mod maintenance;
mod tables;
#[cfg(test)]
mod tests;
mod trees;
mod views;

use std::any::Any;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use godwit_domain::ports::StoreError;
use lsm_tree::{InternalValue, Memtable, ValueType};
use thiserror::Error;

use self::journal::{Journal, Reached, Record, RowWrite};
use self::maintenance::{Maintenance, Threads};
use self::trees::Trees;
use self::views::Moment;
use crate::options::Options;

/// Keys and values. Cheap to clone; short ones are kept in place.
pub(crate) use lsm_tree::Slice as Bytes;

pub(crate) use self::key::{Key, KeyRange, Table};

/// A row that a scan found.
pub(crate) type Row = (Bytes, Bytes);

#[derive(Debug, Error)]
pub(crate) enum EngineError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Tables(lsm_tree::Error),
    #[error("journal segment {} does not continue the segment before it", segment.display())]
    Damaged { segment: PathBuf },
    #[error("a journal segment in {} is missing", folder.display())]
    Missing { folder: PathBuf },
    #[error("{0}")]
    Failed(String),
    /// A flush or a merge found no room. It can be repeated.
    #[error("the disk is full: {0}")]
    NoRoom(io::Error),
    #[error("the memtables were not flushed within {} s", FLUSH_WAIT_MAX.as_secs())]
    FlushTimeout,
}

impl From<lsm_tree::Error> for EngineError {
    fn from(error: lsm_tree::Error) -> Self {
        match error {
            lsm_tree::Error::Io(error) => Self::Io(error),
            error => Self::Tables(error),
        }
    }
}

#[derive(Debug, Error)]
#[error("it panicked: {0}")]
pub(crate) struct Panicked(String);

impl Panicked {
    pub(crate) fn new(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self(text.unwrap_or("no message").to_owned())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

impl Direction {
    fn next_of<T>(self, rows: &mut (impl DoubleEndedIterator<Item = T> + ?Sized)) -> Option<T> {
        match self {
            Self::Forward => rows.next(),
            Self::Backward => rows.next_back(),
        }
    }
}

/// How long a clean stop waits for the flush of all memtables. Without that flush the next start replays the journal.
const FLUSH_WAIT_MAX: Duration = Duration::from_secs(30);
/// How often a caller that waits for the flush or merge thread checks again.
const WAIT_STEP: Duration = Duration::from_millis(2);
/// The writer waits while a tree has this many memtables that are not flushed, or this many runs that are not merged.
const SEALED_MEMTABLES_MAX: usize = 3;
const LEVEL_0_RUNS_MAX: usize = 28;
const JOURNAL_FOLDER: &str = "journal";

pub(crate) struct Engine {
    folder: PathBuf,
    writer: Mutex<Writer>,
    maintenance: Arc<Maintenance>,
    _threads: Threads,
    memtable_bytes_max: u64,
    #[cfg(test)]
    pub(crate) keys_read: Arc<AtomicU64>,
    pub(crate) keys_written: AtomicU64,
}

/// The state of the one writer.
struct Writer {
    journal: Journal,
    /// The active memtable of each tree. Only [`Engine::seal`] replaces it.
    memtables: [Arc<Memtable>; Table::COUNT],
    reached: Reached,
}

/// A snapshot of the store: all commits up to one `seqno`.
pub(crate) struct View {
    moment: Moment,
    #[cfg(test)]
    keys_read: Arc<AtomicU64>,
}

impl Engine {
    /// Opens the engine's folder, or creates it, and replays the journal.
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, EngineError> {
        let trees = Trees::open(path, options)?;
        let persisted = trees.persisted();
        let memtables = trees.memtables();
        let mut last_seqno = persisted.into_iter().max().unwrap_or(0);
        let mut reached = persisted;
        let replay = |record: Record| {
            last_seqno = last_seqno.max(record.seqno);
            for row in record.rows {
                let place = row.0.table.place();
                if record.seqno > persisted[place] {
                    reached[place] = record.seqno;
                    insert(&memtables, row, record.seqno);
                }
            }
        };
        let journal = Journal::open(&path.join(JOURNAL_FOLDER), options.journal_bytes_max, replay)?;
        trees.skip_to(last_seqno);
        trees.views.publish(last_seqno);
        let maintenance = Arc::new(Maintenance::new(trees, journal.shelf()));
        Ok(Self {
            folder: path.to_owned(),
            writer: Mutex::new(Writer { journal, memtables, reached }),
            _threads: Threads::start(&maintenance)?,
            maintenance,
            memtable_bytes_max: options.memtable_bytes_max,
            #[cfg(test)]
            keys_read: Arc::default(),
            keys_written: AtomicU64::new(0),
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn view(&self) -> View {
        View {
            moment: self.maintenance.trees.views.now(),
            #[cfg(test)]
            keys_read: Arc::clone(&self.keys_read),
        }
    }

    /// Writes rows, and removes those that have no value. After an error the engine refuses every commit.
    pub(crate) fn commit(&self, writes: impl Iterator<Item = RowWrite>) -> Result<(), EngineError> {
        self.maintenance.check()?;
        let rows: Vec<RowWrite> = writes.collect();
        self.keys_written.fetch_add(rows.len() as u64, Ordering::Relaxed);
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.seal(&mut writer, |place, memtable| {
            memtable.size() > self.memtable_bytes_max || self.maintenance.is_overdue(place)
        })?;
        let seqno = self.maintenance.trees.next_seqno();
        let reached = writer.reached;
        if let Err(error) = writer.journal.append(seqno, &rows, reached) {
            self.maintenance.fail(&error);
            return Err(error.into());
        }
        for row in rows {
            writer.reached[row.0.table.place()] = seqno;
            insert(&writer.memtables, row, seqno);
        }
        self.maintenance.trees.views.publish(seqno);
        if writer.journal.asks_for_spare() {
            self.maintenance.ask();
        }
        Ok(())
    }

    /// Flushes all memtables, so that the next start has nothing to replay. Nothing may be committed after it.
    pub(crate) fn flush(&self) -> Result<(), EngineError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing follows, so it does not matter how many memtables wait.
        for place in 0..Table::COUNT {
            if !writer.memtables[place].is_empty() {
                self.seal_one(&mut writer, place);
            }
        }
        let began = Instant::now();
        while self
            .maintenance
            .persisted()
            .iter()
            .zip(writer.reached)
            .any(|(persisted, reached)| *persisted < reached)
        {
            self.maintenance.check()?;
            if self.maintenance.flush_lacks_room() {
                return Err(EngineError::NoRoom(io::ErrorKind::StorageFull.into()));
            }
            if began.elapsed() > FLUSH_WAIT_MAX {
                return Err(EngineError::FlushTimeout);
            }
            std::thread::sleep(WAIT_STEP);
        }
        let reached = writer.reached;
        Ok(writer.journal.close(reached)?)
    }

    /// Seals the memtables that are full or overdue and begins new ones. Waits first while flush or merge lag behind; if they
    /// cannot go on because the disk is full, the memtable stays. Runs between two commits, so no commit is split over two
    /// memtables of a tree.
    fn seal(
        &self,
        writer: &mut Writer,
        is_due: impl Fn(usize, &Memtable) -> bool,
    ) -> Result<(), EngineError> {
        for place in 0..Table::COUNT {
            let memtable = &writer.memtables[place];
            if !memtable.is_empty() && is_due(place, memtable) && self.wait_for_room(place)? {
                self.seal_one(writer, place);
            }
        }
        Ok(())
    }

    fn seal_one(&self, writer: &mut Writer, place: usize) {
        writer.memtables[place] = self.maintenance.trees.seal(place);
        self.maintenance.sealed(place, writer.reached[place]);
    }

    /// True if the disk is full, so that commits can only gather in memory. They should be refused, although a few more are
    /// possible.
    pub(crate) fn is_stuck(&self) -> bool {
        let merges_pile_up = || (0..Table::COUNT).any(|place| self.lags_behind(place));
        self.maintenance.flush_lacks_room() || (self.maintenance.merge_lacks_room() && merges_pile_up())
    }

    /// The file of a version of a tree that is written after so many others.
    #[cfg(test)]
    pub(crate) fn version_file(&self, table: Table, after: u64) -> PathBuf {
        self.maintenance.trees.version_file(table.place(), after)
    }

    /// Bytes of the tables on disk.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.maintenance.trees.table_bytes()
    }

    /// Files of the journal.
    pub(crate) fn journal_files(&self) -> usize {
        self.maintenance.journal_files()
    }

    /// Returns false if there is no room in memory, and none on the disk to make some.
    fn wait_for_room(&self, place: usize) -> Result<bool, EngineError> {
        while self.lags_behind(place) {
            if self.maintenance.flush_lacks_room() || self.maintenance.merge_lacks_room() {
                return Ok(false);
            }
            std::thread::sleep(WAIT_STEP);
            self.maintenance.check()?;
        }
        Ok(true)
    }

    fn lags_behind(&self, place: usize) -> bool {
        let (memtables, runs) = self.maintenance.trees.backlog(place);
        memtables >= SEALED_MEMTABLES_MAX || runs >= LEVEL_0_RUNS_MAX
    }
}

fn insert(memtables: &[Arc<Memtable>; Table::COUNT], (key, value): RowWrite, seqno: u64) {
    let value = match value {
        Some(value) => InternalValue::from_components(key.bytes, value, seqno, ValueType::Value),
        None => InternalValue::new_tombstone(key.bytes, seqno),
    };
    memtables[key.table.place()].insert(value);
}

impl View {
    pub(crate) fn get(&self, key: &Key) -> Result<Option<Bytes>, StoreError> {
        #[cfg(test)]
        self.keys_read.fetch_add(1, Ordering::Relaxed);
        self.moment.tables(key.table).get(&key.bytes, self.moment.before).map_err(unreadable)
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
        let mut rows = self.moment.tables(range.table).scan(range, self.moment.before);
        let next = || direction.next_of(&mut *rows);
        let page: Result<Vec<Row>, _> = std::iter::from_fn(next).take(limit).collect();
        #[cfg(test)]
        self.keys_read.fetch_add(page.as_ref().map_or(0, Vec::len) as u64, Ordering::Relaxed);
        page.map_err(unreadable)
    }

    /// Visits the rows of a range until the visitor breaks. Rows after that are not read.
    pub(crate) fn visit(
        &self,
        range: &KeyRange,
        direction: Direction,
        mut visitor: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        if range.start >= range.end {
            return Ok(());
        }
        let mut rows = self.moment.tables(range.table).scan(range, self.moment.before);
        while let Some(row) = direction.next_of(&mut *rows) {
            let (key, value) = row.map_err(unreadable)?;
            #[cfg(test)]
            self.keys_read.fetch_add(1, Ordering::Relaxed);
            if visitor(&key, &value)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn unreadable(error: lsm_tree::Error) -> StoreError {
    StoreError::Unavailable { operation: "read", source: Box::new(error) }
}

/// Syncs a folder, so that files that were created, renamed or removed in it stay so after a crash.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    // Elsewhere a folder cannot be opened as a file, and renaming is durable by itself.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}
