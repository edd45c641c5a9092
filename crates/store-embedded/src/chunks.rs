//! The log is kept in chunks: entries that were appended together, and are all shown or all not, are one row. A busy
//! conversation has far fewer rows than messages, and a page of its history is read with a few of them.
//!
//! The key of a chunk is the place of its last entry, so the chunk with an entry is the first one at or after it.

use std::ops::ControlFlow;

use godwit_domain::model::{Entry, LogItem};
use godwit_domain::ports::{SeqRange, StoreError};
use godwit_protocol::{ConversationId, Seq};

use crate::engine::{Direction, View};
use crate::keys::{self, Key, KeyRange};
use crate::read::Read;
use crate::records::{ChunkReader, ChunkRecord};

/// Entries of one chunk, and their content in bytes; one entry it always has. Whoever wants one of them reads all.
pub(crate) const CHUNK_ENTRIES_MAX: usize = 32;
const CHUNK_BYTES_MAX: usize = 16 * 1024;
/// Room that is made for a page before it is read.
const PAGE_ENTRIES_EXPECTED: usize = 64;

/// The chunks of an append.
pub(crate) fn of(id: ConversationId, entries: &[Entry]) -> Vec<(Key, ChunkRecord<'_>)> {
    let mut chunks = Vec::new();
    let (shown, others): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(|entry| entry.shown);
    for entries in [shown, others] {
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        for entry in entries {
            if chunk.len() == CHUNK_ENTRIES_MAX || bytes > CHUNK_BYTES_MAX {
                chunks.extend(row(id, std::mem::take(&mut chunk)));
                bytes = 0;
            }
            bytes += entry.size_bytes();
            chunk.push(entry);
        }
        chunks.extend(row(id, chunk));
    }
    chunks
}

/// The chunk that has an entry, in the order of the log.
pub(crate) fn with(
    store: &impl Read,
    id: ConversationId,
    seq: Seq,
) -> Result<Option<Vec<Entry>>, StoreError> {
    for shown in [true, false] {
        let rows = store.page(&keys::chunks_from(id, shown, seq), Direction::Forward, 1)?;
        if let Some((key, value)) = rows.first() {
            let entries = ChunkReader::new(key, value, shown)?.map(|entry| Ok(entry?.into()));
            let entries: Vec<Entry> = entries.collect::<Result<_, StoreError>>()?;
            if entries.iter().any(|entry| entry.seq == seq) {
                return Ok(Some(entries));
            }
        }
    }
    Ok(None)
}

/// The first entries of a range in their order, or the last ones, the last first. What became of them is not known yet.
pub(crate) fn page(
    view: &View,
    id: ConversationId,
    shown: bool,
    range: SeqRange,
    direction: Direction,
    limit: usize,
) -> Result<Vec<LogItem>, StoreError> {
    let mut page = Page { range, limit, items: Vec::with_capacity(limit.min(PAGE_ENTRIES_EXPECTED)) };
    match direction {
        Direction::Forward => {
            let rows = keys::chunks_from(id, shown, Seq::new(range.after.get().saturating_add(1)));
            view.visit(&rows, direction, |key, value| {
                page.take_first_of(ChunkReader::new(key, value, shown)?)
            })?;
        }
        Direction::Backward => {
            // The range may end in the middle of a chunk, which then comes first; but not at the end of the log, nor where
            // a chunk ends.
            let mut may_be_cut = range.before < Seq::new(u64::MAX);
            let cut = keys::chunks_from(id, shown, range.before);
            view.visit(&keys::chunks_before(id, shown, range.before), direction, |key, value| {
                let chunk = ChunkReader::new(key, value, shown)?;
                let is_cut = std::mem::take(&mut may_be_cut) && chunk.last_seq().next() < range.before;
                if is_cut && page.take_cut(view, &cut, shown)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                page.take_last_of(chunk)
            })?;
            if may_be_cut {
                let _ = page.take_cut(view, &cut, shown)?;
            }
        }
    }
    Ok(page.items)
}

/// What was found so far. It takes what is wanted out of a chunk, and breaks off when there is nothing more to be found.
struct Page {
    range: SeqRange,
    limit: usize,
    items: Vec<LogItem>,
}

impl Page {
    fn take_first_of(&mut self, chunk: ChunkReader<'_>) -> Result<ControlFlow<()>, StoreError> {
        let is_last = chunk.last_seq().next() >= self.range.before;
        for entry in chunk {
            let entry = entry?;
            if self.items.len() == self.limit {
                return Ok(ControlFlow::Break(()));
            }
            if self.has(entry.seq()) {
                self.items.push(LogItem::unchanged(entry.into()));
            }
        }
        Ok(if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// A chunk is read from its first entry on, and what is taken is turned round.
    fn take_last_of(&mut self, chunk: ChunkReader<'_>) -> Result<ControlFlow<()>, StoreError> {
        let start = self.items.len();
        let is_cut = chunk.last_seq() >= self.range.before;
        let too_many = if is_cut { 0 } else { chunk.left().saturating_sub(self.limit - start) };
        let mut is_last = too_many > 0;
        for (place, entry) in chunk.enumerate() {
            let entry = entry?;
            is_last |= entry.seq().get().saturating_sub(1) <= self.range.after.get();
            if place >= too_many && self.has(entry.seq()) {
                self.items.push(LogItem::unchanged(entry.into()));
            }
        }
        if is_cut {
            let too_many = self.items.len().saturating_sub(self.limit);
            self.items.drain(start..start + too_many);
        }
        self.items[start..].reverse();
        Ok(if is_last || self.items.len() >= self.limit {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }

    /// Out of the chunk in which the range ends.
    fn take_cut(
        &mut self,
        view: &View,
        chunks: &KeyRange,
        shown: bool,
    ) -> Result<ControlFlow<()>, StoreError> {
        match view.page(chunks, Direction::Forward, 1)?.first() {
            Some((key, value)) => self.take_last_of(ChunkReader::new(key, value, shown)?),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    fn has(&self, seq: Seq) -> bool {
        self.range.after < seq && seq < self.range.before
    }
}

fn row(id: ConversationId, entries: Vec<&Entry>) -> Option<(Key, ChunkRecord<'_>)> {
    let last = entries.last().map(|last| (last.seq, last.shown))?;
    Some((keys::chunk(id, last.1, last.0), ChunkRecord::new(entries, last.0)))
}
