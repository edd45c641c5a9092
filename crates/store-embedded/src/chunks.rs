//! The log is kept in chunks: entries that were appended together, and are all shown or all not, are one row. A busy
//! conversation has far fewer rows than messages, and a page of its history is read with a few of them.
//!
//! The key of a chunk is the place of its last entry, so the chunk with an entry is the first one at or after it.

use std::ops::ControlFlow;

use godwit_domain::model::{Entry, LogItem};
use godwit_domain::ports::{SeqRange, StoreError};
use godwit_protocol::{ConversationId, Seq};

use crate::engine::{Direction, View};
use crate::keys::{self, Key};
use crate::read::Read;
use crate::records::{ChunkReader, ChunkRecord, Record as _};

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

/// The first entries of a range, in their order. What became of them is not known yet.
pub(crate) fn first(
    view: &View,
    id: ConversationId,
    shown: bool,
    range: SeqRange,
    limit: usize,
) -> Result<Vec<LogItem>, StoreError> {
    let mut items = Vec::with_capacity(limit.min(PAGE_ENTRIES_EXPECTED));
    let rows = keys::chunks_from(id, shown, Seq::new(range.after.get().saturating_add(1)));
    view.visit(&rows, |key, value| {
        let chunk = ChunkReader::new(key, value, shown)?;
        let is_last = chunk.last_seq().next() >= range.before;
        for entry in chunk {
            if items.len() == limit {
                break;
            }
            let entry = entry?;
            if range.after < entry.seq() && entry.seq() < range.before {
                items.push(LogItem::unchanged(entry.into()));
            }
        }
        let is_done = is_last || items.len() == limit;
        Ok(if is_done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(items)
}

/// The last entries of a range that ends within the log, likewise.
///
/// Reading rows forwards costs a fraction of reading them backwards, so it begins as many numbers before the end as there
/// are entries to be found. If some of those are not shown, it looks at two numbers before them for each entry that is
/// missing; and where none of many is shown, it goes on at the last one that is.
pub(crate) fn last(
    view: &View,
    id: ConversationId,
    shown: bool,
    range: SeqRange,
    limit: usize,
) -> Result<Vec<LogItem>, StoreError> {
    let SeqRange { after, mut before } = range;
    let (mut items, mut numbers) = (Vec::new(), limit);
    while items.len() < limit && before.get().saturating_sub(1) > after.get() {
        let start = Seq::new(before.get().saturating_sub(1).saturating_sub(numbers as u64)).max(after);
        let mut found = first(view, id, shown, SeqRange { after: start, before }, numbers)?;
        let (goes_on_at, numbers_each) =
            if found.is_empty() { (last_until(view, id, shown, start)?, 1) } else { (Some(start), 2) };
        let Some(goes_on_at) = goes_on_at else { break };
        found.append(&mut items);
        items = found;
        before = goes_on_at.next();
        numbers = limit.saturating_sub(items.len()).saturating_mul(numbers_each);
    }
    items.drain(..items.len().saturating_sub(limit));
    Ok(items)
}

/// The place of the last entry at a place or before it: in the chunk that reaches beyond it, or at the end of the one before.
fn last_until(view: &View, id: ConversationId, shown: bool, seq: Seq) -> Result<Option<Seq>, StoreError> {
    let beyond = view.page(&keys::chunks_from(id, shown, seq.next()), Direction::Forward, 1)?;
    if let Some((key, value)) = beyond.first() {
        let mut last = None;
        for entry in ChunkReader::new(key, value, shown)? {
            last = Some(entry?.seq()).filter(|at| *at <= seq).or(last);
        }
        if last.is_some() {
            return Ok(last);
        }
    }
    let before = view.page(&keys::chunks_before(id, shown, seq.next()), Direction::Backward, 1)?;
    let last = before.first().map(|(key, _)| keys::last_id(ChunkRecord::TABLE, key)).transpose()?;
    Ok(last.map(Seq::new))
}

fn row(id: ConversationId, entries: Vec<&Entry>) -> Option<(Key, ChunkRecord<'_>)> {
    let last = entries.last().map(|last| (last.seq, last.shown))?;
    Some((keys::chunk(id, last.1, last.0), ChunkRecord::new(entries, last.0)))
}
