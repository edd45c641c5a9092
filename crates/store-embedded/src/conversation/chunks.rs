//! Chunks of the log. Entries that were appended together and are all shown, or all not shown, share a row. So
//! a busy conversation has far fewer rows than messages, and a page of its history reads only a few.
//!
//! The key of a chunk contains the seq of its last entry, so the chunk with an entry is the first one at or
//! after the entry.

use std::ops::ControlFlow;

use godwit_domain::model::{Entry, LogItem};
use godwit_domain::ports::{SeqRange, StoreError};
use godwit_protocol::{ConversationId, Seq};

use crate::engine::{Direction, View};
use crate::keys::{self, Key};
use crate::read::Read;
use crate::records::{ChunkReader, ChunkRecord};

/// Limits of a chunk: 32 entries, and 16 KiB of content unless it has a single entry. Reading one entry reads
/// the whole chunk.
pub(crate) const CHUNK_ENTRIES_MAX: usize = 32;
const CHUNK_BYTES_MAX: usize = 16 * 1024;
/// Entries for which a page allocates memory in advance.
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

/// The entries of the chunk that contains an entry, in the order of the log.
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

/// The chunks of a conversation that are shown, or those that are not.
pub(crate) struct Chunks<'a> {
    pub(crate) view: &'a View,
    pub(crate) id: ConversationId,
    pub(crate) shown: bool,
}

impl Chunks<'_> {
    /// The first entries of a range, in order, without their states.
    pub(crate) fn first(&self, range: SeqRange, limit: usize) -> Result<Vec<LogItem>, StoreError> {
        let mut items = Vec::with_capacity(limit.min(PAGE_ENTRIES_EXPECTED));
        let rows = keys::chunks_from(self.id, self.shown, Seq::new(range.after.get().saturating_add(1)));
        self.view.visit(&rows, Direction::Forward, |key, value| {
            let chunk = ChunkReader::new(key, value, self.shown)?;
            let is_last = chunk.last_seq().next() >= range.before;
            take(chunk, range, limit, &mut items)?;
            Ok(until(is_last || items.len() == limit))
        })?;
        Ok(items)
    }

    /// The last entries of a range that ends within the log, in order, without their states.
    ///
    /// In the engine, a step backward costs a search. So this reads the last `limit` sequence numbers
    /// forward, and reads backward only the entries that are missing because they belong to the other kind of
    /// chunk.
    pub(crate) fn last(&self, range: SeqRange, limit: usize) -> Result<Vec<LogItem>, StoreError> {
        let end = range.before.get().saturating_sub(1);
        let middle = Seq::new(end.saturating_sub(limit as u64)).max(range.after);
        let mut items = self.first(SeqRange { after: middle, ..range }, limit)?;
        if items.len() < limit && middle > range.after {
            let earlier = SeqRange { before: middle.next(), ..range };
            let mut earlier = self.last_backwards(earlier, limit - items.len())?;
            earlier.append(&mut items);
            items = earlier;
        }
        Ok(items)
    }

    /// The last entries of any range, read backward chunk by chunk.
    fn last_backwards(&self, range: SeqRange, limit: usize) -> Result<Vec<LogItem>, StoreError> {
        let (mut chunks, mut found) = (Vec::new(), 0);
        let mut take_chunk = |key: &[u8], value: &[u8]| {
            let mut items = Vec::new();
            take(ChunkReader::new(key, value, self.shown)?, range, usize::MAX, &mut items)?;
            found += items.len();
            chunks.push(items);
            Ok::<_, StoreError>(until(found >= limit))
        };
        // The range may end in the middle of a chunk.
        let beyond = keys::chunks_from(self.id, self.shown, range.before);
        let is_done = match self.view.page(&beyond, Direction::Forward, 1)?.first() {
            Some((key, value)) => take_chunk(key, value)?.is_break(),
            None => false,
        };
        if !is_done {
            let within = keys::chunks_between(self.id, self.shown, range.after.next(), range.before);
            self.view.visit(&within, Direction::Backward, take_chunk)?;
        }
        Ok(chunks.into_iter().rev().flatten().skip(found.saturating_sub(limit)).collect())
    }
}

/// Adds the entries of a chunk that are in the range, until there are `limit` of them.
fn take(
    chunk: ChunkReader<'_>,
    range: SeqRange,
    limit: usize,
    items: &mut Vec<LogItem>,
) -> Result<(), StoreError> {
    for entry in chunk {
        if items.len() == limit {
            break;
        }
        let entry = entry?;
        if range.after < entry.seq() && entry.seq() < range.before {
            items.push(LogItem::unchanged(entry.into()));
        }
    }
    Ok(())
}

const fn until(is_done: bool) -> ControlFlow<()> {
    if is_done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn row(id: ConversationId, entries: Vec<&Entry>) -> Option<(Key, ChunkRecord<'_>)> {
    let last = entries.last().map(|last| (last.seq, last.shown))?;
    Some((keys::chunk(id, last.1, last.0), ChunkRecord::new(entries, last.0)))
}
