//! The write-ahead journal: every commit is durable in it before the memtables have it. [`Journal::open`] replays it.
//!
//! - [`record`]: one commit
//! - [`segment`]: one file, which is preallocated and reused
//!
//! ```text
//!  shelf.full (oldest first)               current          shelf.free
//!  ┌────┐ ┌────┐ ┌────┐                    ┌────┐           ┌────┐ ┌────┐
//!  │ 12 │ │ 13 │ │ 14 │                    │ 15 │◀─ append  │ 10 │ │ 11 │
//!  └────┘ └────┘ └────┘                    └────┘           └────┘ └────┘
//!    │ all rows are in tables on disk                          ▲
//!    └─────────────── release ─────────────────────────────────┘
//!
//!  header of 15: number 15, needed_from 12, follows (seqno of the last record of 14), salt
//! ```
//!
//! A full segment becomes *free* when every row in it is in tables on disk. A free segment is overwritten only after the header
//! of a newer segment, which no longer needs it, is durable (`Segments::needed_from`). So after a crash the newest header names
//! the first segment that has to be replayed, and that segment and all after it are there. If one is missing, or does not
//! follow the one before, the disk has lost data, and the store refuses to open.

mod record;
mod segment;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fs, io};

pub(super) use record::{Record, RowWrite};
use segment::{EXTENSION, Header, SEGMENT_BYTES, Segment, Slot};

use super::EngineError;
use crate::engine::key::Table;

/// For each tree, the `seqno` of the last commit that has rows of it.
pub(super) type Reached = [u64; Table::COUNT];

/// The writing end. There is one.
#[derive(Debug)]
pub(super) struct Journal {
    shelf: Arc<Shelf>,
    current: Segment,
    last_seqno: u64,
    buffer: Vec<u8>,
}

/// All segments but the current one.
#[derive(Debug)]
pub(super) struct Shelf {
    folder: PathBuf,
    bytes_max: u64,
    state: Mutex<Segments>,
}

#[derive(Debug, Default)]
struct Segments {
    /// The oldest first.
    full: VecDeque<Full>,
    free: Vec<Free>,
    wants_spare: bool,
    /// `needed_from` of the newest header that is certainly durable.
    needed_from: u64,
    /// The highest name of a file.
    highest_name: u64,
}

#[derive(Debug)]
struct Full {
    number: u64,
    slot: Slot,
    /// The commits up to which the tables on disk must be complete before this segment is free.
    reached: Reached,
}

#[derive(Debug)]
struct Free {
    /// The number of its last use, which a durable header may still need; 0 if it was never used.
    was: u64,
    slot: Slot,
}

impl Journal {
    /// Opens the journal of a folder, or creates it. Calls `replay` with every record, in the order of the commits.
    pub(super) fn open(
        folder: &Path,
        bytes_max: u64,
        mut replay: impl FnMut(Record),
    ) -> Result<Self, EngineError> {
        fs::create_dir_all(folder)?;
        let (mut needed, free, highest_name) = find(folder)?;
        let (mut last_seqno, mut is_empty) = (0, false);
        let mut reached = Reached::default();
        for (place, (header, slot)) in needed.iter_mut().enumerate() {
            if place > 0 && header.follows != last_seqno {
                return Err(EngineError::Damaged { segment: slot.path.clone() });
            }
            last_seqno = header.follows;
            let records = slot.records(header)?;
            is_empty = records.is_empty();
            for record in records {
                last_seqno = record.seqno;
                for (key, _) in &record.rows {
                    reached[key.table.place()] = record.seqno;
                }
                replay(record);
            }
        }
        let needed_from = needed.first().map_or(1, |(header, _)| header.number);
        let number = needed.last().map_or(1, |(header, _)| header.number + 1);
        let newest = needed.pop_if(|_| is_empty);
        let full = needed.into_iter().map(|(header, slot)| Full { number: header.number, slot, reached });
        let full = full.collect();
        let state = Segments { full, free, wants_spare: false, needed_from, highest_name };
        let shelf = Arc::new(Shelf { folder: folder.to_owned(), bytes_max, state: Mutex::new(state) });
        let current = match newest {
            Some((header, slot)) => Segment::begin(slot, header)?,
            None => {
                let header = Header { number, salt: salt(), needed_from, follows: last_seqno };
                Segment::begin(shelf.take()?, header)?
            }
        };
        Ok(Self { shelf, current, last_seqno, buffer: Vec::new() })
    }

    pub(super) fn shelf(&self) -> Arc<Shelf> {
        Arc::clone(&self.shelf)
    }

    /// Makes the rows of a commit durable. `reached` covers the commits before this one.
    pub(super) fn append(&mut self, seqno: u64, rows: &[RowWrite], reached: Reached) -> io::Result<()> {
        record::encode(&mut self.buffer, self.current.header.salt, seqno, rows);
        if !self.current.has_room(self.buffer.len()) {
            self.begin_segment(reached)?;
            record::encode(&mut self.buffer, self.current.header.salt, seqno, rows);
        }
        self.current.append(&self.buffer)?;
        self.last_seqno = seqno;
        Ok(())
    }

    /// Whether a spare segment should be prepared now. True only once per spare segment.
    pub(super) fn asks_for_spare(&self) -> bool {
        self.current.is_half_full() && self.shelf.ask_for_spare()
    }

    /// Writes, at a clean stop, a header that needs no older segment: the next start replays nothing.
    pub(super) fn close(&mut self, reached: Reached) -> io::Result<()> {
        self.begin(reached, self.current.header.number + 1)?;
        self.current.sync()?;
        self.shelf.lock().needed_from = self.current.header.needed_from;
        self.shelf.release(reached)
    }

    fn begin_segment(&mut self, reached: Reached) -> io::Result<()> {
        self.begin(reached, self.shelf.oldest().unwrap_or(self.current.header.number))
    }

    fn begin(&mut self, reached: Reached, needed_from: u64) -> io::Result<()> {
        // The header of the current segment was synced with its first record. If it has no record, it repeats the
        // `needed_from` of the segment before.
        self.shelf.lock().needed_from = self.current.header.needed_from;
        let slot = self.shelf.take()?;
        let number = self.current.header.number + 1;
        let header = Header { number, salt: salt(), needed_from, follows: self.last_seqno };
        let full = std::mem::replace(&mut self.current, Segment::begin(slot, header)?);
        let full = Full { number: full.header.number, slot: full.slot, reached };
        self.shelf.lock().full.push_back(full);
        Ok(())
    }
}

impl Shelf {
    /// Frees the segments whose rows are all in tables on disk, and deletes free files that exceed the limit.
    pub(super) fn release(&self, persisted: Reached) -> io::Result<()> {
        let mut state = self.lock();
        let is_persisted =
            |full: &mut Full| full.reached.iter().zip(persisted).all(|(row, table)| *row <= table);
        while let Some(Full { number, slot, .. }) = state.full.pop_front_if(is_persisted) {
            state.free.push(Free { was: number, slot });
        }
        let mut removed = Vec::new();
        while state.bytes() > self.bytes_max
            && let Some(slot) = state.take_free()
        {
            removed.push(slot);
        }
        drop(state);
        removed.into_iter().try_for_each(Slot::remove)
    }

    /// If the journal is too large: the commits up to which the trees must be flushed to free the oldest segment.
    pub(super) fn overdue(&self) -> Option<Reached> {
        let state = self.lock();
        let is_large = state.full.len() as u64 * SEGMENT_BYTES > self.bytes_max;
        state.full.front().filter(|_| is_large).map(|oldest| oldest.reached)
    }

    /// Creates a spare segment, if one was asked for.
    pub(super) fn prepare_spare(&self) -> io::Result<()> {
        let is_wanted = self.lock().wants_spare;
        if is_wanted {
            let slot = self.create()?;
            let mut state = self.lock();
            state.wants_spare = false;
            state.free.push(Free { was: 0, slot });
        }
        Ok(())
    }

    pub(super) fn files(&self) -> usize {
        let state = self.lock();
        1 + state.full.len() + state.free.len()
    }

    fn ask_for_spare(&self) -> bool {
        let mut state = self.lock();
        let is_new = !state.wants_spare && state.free.iter().all(|free| free.was >= state.needed_from);
        state.wants_spare |= is_new;
        is_new
    }

    fn oldest(&self) -> Option<u64> {
        self.lock().full.front().map(|full| full.number)
    }

    fn take(&self) -> io::Result<Slot> {
        let free = self.lock().take_free();
        free.map_or_else(|| self.create(), Ok)
    }

    fn create(&self) -> io::Result<Slot> {
        let name = {
            let mut state = self.lock();
            state.highest_name += 1;
            state.highest_name
        };
        Slot::create(&self.folder, name)
    }

    fn lock(&self) -> MutexGuard<'_, Segments> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Segments {
    /// A free file that no durable header needs.
    fn take_free(&mut self) -> Option<Slot> {
        let place = self.free.iter().position(|free| free.was < self.needed_from)?;
        Some(self.free.swap_remove(place).slot)
    }

    fn bytes(&self) -> u64 {
        (self.full.len() + self.free.len()) as u64 * SEGMENT_BYTES
    }
}

type Needed = Vec<(Header, Slot)>;

/// The segments to replay, in order; the free ones; and the highest file name.
fn find(folder: &Path) -> Result<(Needed, Vec<Free>, u64), EngineError> {
    let (mut used, mut free, mut highest_name) = (Needed::new(), Vec::new(), 0);
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        let Some(name) = name.filter(|_| path.extension().is_some_and(|end| end == EXTENSION)) else {
            continue;
        };
        highest_name = name.max(highest_name);
        let mut slot = Slot::open(path)?;
        match slot.header()? {
            Some(header) => used.push((header, slot)),
            None => free.push(Free { was: 0, slot }),
        }
    }
    used.sort_by_key(|(header, _)| header.number);
    let needed_from = used.last().map_or(0, |(newest, _)| newest.needed_from);
    let needed = used.split_off(used.partition_point(|(header, _)| header.number < needed_from));
    free.extend(used.into_iter().map(|(header, slot)| Free { was: header.number, slot }));
    let is_missing = |(place, (header, _)): (u64, &(Header, Slot))| header.number != needed_from + place;
    if (0..).zip(&needed).any(is_missing) {
        return Err(EngineError::Missing { folder: folder.to_owned() });
    }
    Ok((needed, free, highest_name))
}

/// A random number, so that each use of a file has a salt of its own.
fn salt() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
