//! The storage engine. Nothing outside of this folder names what it is made of, so that it can be exchanged.
//!
//! - [`journal`]: every commit, durable before anything else
//! - [`trees`]: sorted tables, in memory and on disk (the crate `lsm-tree`)
//! - [`care`]: the threads that write tables out, merge them, and free the journal
//! - [`tables`], [`views`]: what is read, and what everybody may see of it
//!
//! What the rest of the crate relies on:
//! - [`Engine::commit`] is atomic and durable: when it returns, the writes survive a crash; if it fails, the engine takes
//!   no more of them.
//! - A reader sees a write only when it is durable: it is in the journal before the tables in memory are changed.
//! - [`View`] is one moment. It keeps the tables of that moment, memory and files, so it is dropped before the caller awaits.
//! - There is one writer, the committer's thread.

mod care;
mod journal;
mod tables;
#[cfg(test)]
mod tests;
mod trees;
mod views;

use std::any::Any;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use godwit_domain::ports::StoreError;
use lsm_tree::{InternalValue, Memtable, ValueType};
use thiserror::Error;

use self::care::{Care, Threads};
use self::journal::{Journal, Reached, Record, RowWrite};
use self::trees::Trees;
use self::views::Moment;
use crate::keys::{Key, KeyRange, Table};
use crate::options::Options;

/// Keys and values. Cheap to clone; short ones are kept in place.
pub(crate) use lsm_tree::Slice as Bytes;

/// A row that a scan found.
pub(crate) type Row = (Bytes, Bytes);

#[derive(Debug, Error)]
pub(crate) enum EngineError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Tables(lsm_tree::Error),
    #[error("{} does not follow the segment of the journal before it", segment.display())]
    Damaged { segment: PathBuf },
    #[error("a segment of the journal in {} is missing", folder.display())]
    Missing { folder: PathBuf },
    #[error("{0}")]
    Failed(String),
    #[error("the tables in memory were not written out within {} s", FLUSH_WAIT_MAX.as_secs())]
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

/// How long a clean stop waits for the tables in memory to be written out. A start without it takes longer, that is all.
const FLUSH_WAIT_MAX: Duration = Duration::from_secs(30);
/// How often those who wait for the engine's threads look again.
const WAIT_STEP: Duration = Duration::from_millis(2);
/// A writer waits while so many tables in memory are not written out, or so many tables on disk not merged.
const SEALED_MEMTABLES_MAX: usize = 3;
const LEVEL_0_RUNS_MAX: usize = 28;
const JOURNAL_FOLDER: &str = "journal";

pub(crate) struct Engine {
    writer: Mutex<Writer>,
    care: Arc<Care>,
    _threads: Threads,
    memtable_bytes_max: u64,
    #[cfg(test)]
    pub(crate) keys_read: Arc<AtomicU64>,
    pub(crate) keys_written: AtomicU64,
}

/// What only the one who writes needs.
struct Writer {
    journal: Journal,
    /// The tables in memory that take rows. Nobody else changes them for others.
    memtables: [Arc<Memtable>; Table::COUNT],
    reached: Reached,
}

/// One moment of the store.
pub(crate) struct View {
    moment: Moment,
    #[cfg(test)]
    keys_read: Arc<AtomicU64>,
}

impl Engine {
    /// Opens the engine's folder, or makes it.
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
        let care = Arc::new(Care::new(trees, journal.shelf()));
        Ok(Self {
            writer: Mutex::new(Writer { journal, memtables, reached }),
            _threads: Threads::start(&care)?,
            care,
            memtable_bytes_max: options.memtable_bytes_max,
            #[cfg(test)]
            keys_read: Arc::default(),
            keys_written: AtomicU64::new(0),
        })
    }

    pub(crate) fn view(&self) -> View {
        View {
            moment: self.care.trees.views.now(),
            #[cfg(test)]
            keys_read: Arc::clone(&self.keys_read),
        }
    }

    /// Writes rows, and removes those with no value. After an error nothing can be written any more.
    pub(crate) fn commit(&self, writes: impl Iterator<Item = RowWrite>) -> Result<(), EngineError> {
        self.care.check()?;
        let rows: Vec<RowWrite> = writes.collect();
        self.keys_written.fetch_add(rows.len() as u64, Ordering::Relaxed);
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.seal(&mut writer, |place, memtable| {
            memtable.size() > self.memtable_bytes_max || self.care.is_overdue(place)
        })?;
        let seqno = self.care.trees.next_seqno();
        let reached = writer.reached;
        if let Err(error) = writer.journal.append(seqno, &rows, reached) {
            self.care.fail(&error);
            return Err(error.into());
        }
        for row in rows {
            writer.reached[row.0.table.place()] = seqno;
            insert(&writer.memtables, row, seqno);
        }
        self.care.trees.views.publish(seqno);
        if writer.journal.asks_for_spare() {
            self.care.ask();
        }
        Ok(())
    }

    /// Writes out what is in memory, so that the next start has nothing to read again. Nothing may be committed after it.
    pub(crate) fn flush(&self) -> Result<(), EngineError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.seal(&mut writer, |_, _| true)?;
        let began = Instant::now();
        while self
            .care
            .persisted()
            .iter()
            .zip(writer.reached)
            .any(|(persisted, reached)| *persisted < reached)
        {
            self.care.check()?;
            if began.elapsed() > FLUSH_WAIT_MAX {
                return Err(EngineError::FlushTimeout);
            }
            std::thread::sleep(WAIT_STEP);
        }
        let reached = writer.reached;
        Ok(writer.journal.close(reached)?)
    }

    /// Begins new tables in memory in the place of some, when there is room for them. Between commits, so that none of them
    /// is in two.
    fn seal(
        &self,
        writer: &mut Writer,
        is_due: impl Fn(usize, &Memtable) -> bool,
    ) -> Result<(), EngineError> {
        for place in 0..Table::COUNT {
            if !writer.memtables[place].is_empty() && is_due(place, &writer.memtables[place]) {
                self.wait_for_room(place)?;
                writer.memtables[place] = self.care.trees.seal(place);
                self.care.sealed(place, writer.reached[place]);
            }
        }
        Ok(())
    }

    /// Bytes of the tables on disk.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.care.trees.table_bytes()
    }

    /// Files of the journal.
    pub(crate) fn journal_files(&self) -> usize {
        self.care.journal_files()
    }

    fn wait_for_room(&self, place: usize) -> Result<(), EngineError> {
        let is_full = |(memtables, runs)| memtables >= SEALED_MEMTABLES_MAX || runs >= LEVEL_0_RUNS_MAX;
        while is_full(self.care.trees.backlog(place)) {
            std::thread::sleep(WAIT_STEP);
            self.care.check()?;
        }
        Ok(())
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

    /// Visits the rows of a range until it is told to stop. What comes after is not read.
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
