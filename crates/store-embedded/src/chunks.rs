//! The log is kept in chunks: entries that were appended together, and are all shown or all not, are one row. A busy
//! conversation has far fewer rows than messages, and a page of its history is read with a few of them.
//!
//! The key of a chunk is the place of its last entry, so the chunk with an entry is the first one at or after it.

use std::ops::ControlFlow;

use godwit_domain::model::{Entry, LogItem, MessageState};
use godwit_domain::ports::{SeqRange, StoreError};
use godwit_protocol::{ConversationId, Seq};

use crate::engine::{Direction, View};
use crate::keys::{self, Key, KeyRange};
use crate::read::Read;
use crate::records::{ChunkRecord, Record};

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
            let entries: Vec<Entry> = decode(key, value, shown)?.collect();
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
    let mut page =
        Page { range, direction, limit, items: Vec::with_capacity(limit.min(PAGE_ENTRIES_EXPECTED)) };
    match direction {
        Direction::Forward => {
            let rows = keys::chunks_from(id, shown, Seq::new(range.after.get().saturating_add(1)));
            view.visit(&rows, direction, |key, value| Ok(page.take(decode(key, value, shown)?)))?;
        }
        Direction::Backward => {
            // The range may end in the middle of a chunk, which then comes first; but not at the end of the log, nor where
            // a chunk ends.
            let mut may_be_cut = range.before < Seq::new(u64::MAX);
            let cut = keys::chunks_from(id, shown, range.before);
            view.visit(&keys::chunks_before(id, shown, range.before), direction, |key, value| {
                let is_cut = std::mem::take(&mut may_be_cut) && last_of(key)?.next() < range.before;
                if is_cut && page.take_first(view, &cut, shown)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                Ok(page.take(decode(key, value, shown)?))
            })?;
            if may_be_cut {
                let _ = page.take_first(view, &cut, shown)?;
            }
        }
    }
    Ok(page.items)
}

/// What was found so far.
struct Page {
    range: SeqRange,
    direction: Direction,
    limit: usize,
    items: Vec<LogItem>,
}

impl Page {
    fn take_first(
        &mut self,
        view: &View,
        chunks: &KeyRange,
        shown: bool,
    ) -> Result<ControlFlow<()>, StoreError> {
        match view.page(chunks, Direction::Forward, 1)?.first() {
            Some((key, value)) => Ok(self.take(decode(key, value, shown)?)),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    /// Takes what is wanted out of a chunk. Breaks off when there is nothing more to be found.
    fn take(&mut self, mut chunk: impl DoubleEndedIterator<Item = Entry>) -> ControlFlow<()> {
        let SeqRange { after, before } = self.range;
        loop {
            if self.items.len() >= self.limit {
                return ControlFlow::Break(());
            }
            let (next, is_last): (_, fn(Seq, SeqRange) -> bool) = match self.direction {
                Direction::Forward => (chunk.next(), |seq, range| seq.next() >= range.before),
                Direction::Backward => (chunk.next_back(), |seq, range| seq.get() - 1 <= range.after.get()),
            };
            let Some(entry) = next else { return ControlFlow::Continue(()) };
            let seq = entry.seq;
            if after < seq && seq < before {
                self.items.push(LogItem { entry, state: MessageState::default() });
            }
            if is_last(seq, self.range) {
                return ControlFlow::Break(());
            }
        }
    }
}

fn decode<'a>(
    key: &[u8],
    value: &'a [u8],
    shown: bool,
) -> Result<impl DoubleEndedIterator<Item = Entry> + use<'a>, StoreError> {
    Ok(ChunkRecord::decode(key, value)?.into_entries(last_of(key)?, shown))
}

/// The place of a chunk's last entry.
fn last_of(key: &[u8]) -> Result<Seq, StoreError> {
    Ok(Seq::new(keys::last_id(ChunkRecord::TABLE, key)?))
}

fn row(id: ConversationId, entries: Vec<&Entry>) -> Option<(Key, ChunkRecord<'_>)> {
    let last = entries.last().map(|last| (last.seq, last.shown))?;
    Some((keys::chunk(id, last.1, last.0), ChunkRecord::new(entries, last.0)))
}
