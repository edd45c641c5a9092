//! Reads the log.
//!
//! Shown entries and other entries are in two ranges, so a page of the history reads nothing else. Message
//! states are in a third range, which is short or empty and read together with the page.

use godwit_domain::model::{ClientId, Entry, LogItem, MessageState};
use godwit_domain::ports::{HistoryEnd, SeqRange, StoreError};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

use super::chunks::{self, Chunks};
use crate::engine::{Direction, View};
use crate::keys;
use crate::read::Read;
use crate::records::{
    ChunkRecord, HeadRecord, LocationRecord, MessageStateRecord, Record, SeqRecord, corrupt,
};

/// Entries after `after`, from both ranges. The log has no gaps, so they are the next `limit` sequence numbers.
pub(crate) fn entries(
    view: &View,
    id: ConversationId,
    after: Seq,
    limit: usize,
) -> Result<Vec<LogItem>, StoreError> {
    let before = Seq::new(after.get().saturating_add(limit as u64).saturating_add(1));
    let page = |shown| Chunks { view, id, shown }.first(SeqRange { after, before }, limit);
    let (mut items, others) = (page(true)?, page(false)?);
    if !others.is_empty() {
        items.extend(others);
        items.sort_unstable_by_key(|item| item.entry.seq);
    }
    let mut expected = after;
    for item in &items {
        expected = expected.next();
        if item.entry.seq != expected {
            return Err(missing(id, expected));
        }
    }
    with_states(view, id, items)
}

/// One entry, without its state.
pub(crate) fn entry(store: &impl Read, id: ConversationId, seq: Seq) -> Result<Option<Entry>, StoreError> {
    let chunk = chunks::with(store, id, seq)?;
    Ok(chunk.into_iter().flatten().find(|entry| entry.seq == seq))
}

pub(crate) fn items(
    store: &impl Read,
    id: ConversationId,
    seqs: &[Seq],
) -> Result<Vec<Option<LogItem>>, StoreError> {
    let item = |seq: &Seq| {
        let Some(entry) = entry(store, id, *seq)? else { return Ok(None) };
        let state: Option<MessageStateRecord> = match entry.message() {
            Some(_) => store.record(&keys::message_state(id, *seq))?,
            None => None,
        };
        Ok(Some(LogItem {
            entry,
            state: state.map(|state| MessageState::from(state).into()).unwrap_or_default(),
        }))
    };
    seqs.iter().map(item).collect()
}

pub(crate) fn history(
    view: &View,
    id: ConversationId,
    range: SeqRange,
    end: HistoryEnd,
    limit: usize,
) -> Result<Vec<LogItem>, StoreError> {
    let chunks = Chunks { view, id, shown: true };
    let items = match end {
        HistoryEnd::Oldest => chunks.first(range, limit)?,
        HistoryEnd::Newest => {
            let head: Option<HeadRecord> = view.record(&keys::head(id))?;
            let end = head.map_or(Seq::ZERO, |head| head.seq()).next();
            chunks.last(SeqRange { before: range.before.min(end), ..range }, limit)?
        }
    };
    with_states(view, id, items)
}

pub(crate) fn locate(
    store: &impl Read,
    message: MessageId,
) -> Result<Option<(ConversationId, Seq)>, StoreError> {
    let rows = store.page(&keys::locations_until(message), Direction::Backward, 1)?;
    let Some((key, value)) = rows.first() else { return Ok(None) };
    let after_first = message.get() - keys::last_id(LocationRecord::TABLE, key)?;
    let LocationRecord { conversation, first, count } = LocationRecord::decode(key, value)?;
    Ok((after_first < count).then(|| (conversation, Seq::new(first.get() + after_first))))
}

pub(crate) fn sent_as(
    store: &impl Read,
    id: ConversationId,
    sender: UserId,
    client_id: &ClientId,
) -> Result<Option<Seq>, StoreError> {
    let sent: Option<SeqRecord> = store.record(&keys::client_id(id, sender, client_id))?;
    Ok(sent.map(|SeqRecord(seq)| seq))
}

/// A binary search: ids, and the times in them, grow with the seq.
pub(crate) fn seq_at(store: &impl Read, id: ConversationId, time: Timestamp) -> Result<Seq, StoreError> {
    let head: Option<HeadRecord> = store.record(&keys::head(id))?;
    let mut from = Seq::ZERO.next();
    let mut to = head.map_or(Seq::ZERO, |head| head.seq()).next();
    while from < to {
        let middle = Seq::new(from.get().midpoint(to.get()));
        let entry = entry(store, id, middle)?.ok_or_else(|| missing(id, middle))?;
        if entry.at() < time {
            from = middle.next();
        } else {
            to = middle;
        }
    }
    Ok(from)
}

/// Adds the states to the entries of a page. There are at most as many states as messages in the range, so one
/// scan finds them.
fn with_states(
    store: &impl Read,
    id: ConversationId,
    mut items: Vec<LogItem>,
) -> Result<Vec<LogItem>, StoreError> {
    let (Some(first), Some(last)) = (items.first(), items.last()) else { return Ok(items) };
    for (key, value) in store.all(&keys::message_states(id, first.entry.seq, last.entry.seq))? {
        let seq = Seq::new(keys::last_id(MessageStateRecord::TABLE, &key)?);
        if let Ok(place) = items.binary_search_by_key(&seq, |item| item.entry.seq) {
            items[place].state = MessageState::from(MessageStateRecord::decode(&key, &value)?).into();
        }
    }
    Ok(items)
}

fn missing(id: ConversationId, seq: Seq) -> StoreError {
    corrupt::<ChunkRecord>(&keys::chunk(id, true, seq).bytes, "the entry is missing or doubled")
}
