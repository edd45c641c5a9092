//! Reading the log.
//!
//! Messages and other changes are in two ranges, so that a page of messages reads nothing else.

use godwit_domain::model::{ClientId, Entry};
use godwit_domain::ports::{MessageOrder, SeqRange, StoreError};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

use crate::engine::{Direction, Row};
use crate::keys;
use crate::read::Read;
use crate::records::{ChangeRecord, HeadRecord, LocationRecord, MessageRecord, Record, SentRecord};

/// Entries after `after`, of both ranges. The log has no gaps, so they are the next `limit` numbers.
pub(crate) fn entries(
    store: &impl Read,
    id: ConversationId,
    after: Seq,
    limit: usize,
) -> Result<Vec<Entry>, StoreError> {
    let range =
        SeqRange { after, before: Seq::new(after.get().saturating_add(limit as u64).saturating_add(1)) };
    let messages = store.page(&keys::messages(id, range), Direction::Forward, limit)?;
    let changes = store.page(&keys::changes(id, range), Direction::Forward, limit)?;
    let messages = messages.iter().map(message_entry);
    let mut entries = messages.chain(changes.iter().map(change_entry)).collect::<Result<Vec<_>, _>>()?;
    entries.sort_unstable_by_key(|entry| entry.seq);
    let mut expected = after;
    for entry in &entries {
        expected = expected.next();
        if entry.seq != expected {
            let key = keys::display(&keys::message(id, expected).bytes);
            return Err(StoreError::Corrupt {
                table: "log",
                key,
                reason: "the entry is missing or doubled".into(),
            });
        }
    }
    Ok(entries)
}

pub(crate) fn entry(store: &impl Read, id: ConversationId, seq: Seq) -> Result<Option<Entry>, StoreError> {
    let message: Option<MessageRecord> = store.record(&keys::message(id, seq))?;
    if let Some(message) = message {
        return Ok(Some(message.into_entry(seq)));
    }
    let change: Option<ChangeRecord> = store.record(&keys::change(id, seq))?;
    Ok(change.map(|change| change.into_entry(seq)))
}

pub(crate) fn messages(
    store: &impl Read,
    id: ConversationId,
    range: SeqRange,
    order: MessageOrder,
    limit: usize,
) -> Result<Vec<Entry>, StoreError> {
    let direction = match order {
        MessageOrder::OldestFirst => Direction::Forward,
        MessageOrder::NewestFirst => Direction::Backward,
    };
    store.page(&keys::messages(id, range), direction, limit)?.iter().map(message_entry).collect()
}

pub(crate) fn locate(
    store: &impl Read,
    message: MessageId,
) -> Result<Option<(ConversationId, Seq)>, StoreError> {
    let location: Option<LocationRecord> = store.record(&keys::location(message))?;
    Ok(location.map(|LocationRecord(conversation, seq)| (conversation, seq)))
}

pub(crate) fn sent_as(
    store: &impl Read,
    id: ConversationId,
    sender: UserId,
    client_id: &ClientId,
) -> Result<Option<Seq>, StoreError> {
    let sent: Option<SentRecord> = store.record(&keys::client_id(id, sender, client_id))?;
    Ok(sent.map(|SentRecord(seq)| seq))
}

/// A search by halves: ids, and the times in them, rise with seq.
pub(crate) fn seq_at(store: &impl Read, id: ConversationId, time: Timestamp) -> Result<Seq, StoreError> {
    let head: Option<HeadRecord> = store.record(&keys::head(id))?;
    let mut from = Seq::ZERO.next();
    let mut to = head.map_or(Seq::ZERO, |head| head.seq).next();
    while from < to {
        let middle = Seq::new(from.get().midpoint(to.get()));
        let entry = entry(store, id, middle)?.ok_or_else(|| {
            let key = keys::display(&keys::message(id, middle).bytes);
            StoreError::Corrupt { table: "log", key, reason: "the entry is missing".into() }
        })?;
        if entry.at() < time {
            from = middle.next();
        } else {
            to = middle;
        }
    }
    Ok(from)
}

fn message_entry((key, value): &Row) -> Result<Entry, StoreError> {
    let seq = Seq::new(keys::last_id(MessageRecord::TABLE, key)?);
    Ok(MessageRecord::decode(key, value)?.into_entry(seq))
}

fn change_entry((key, value): &Row) -> Result<Entry, StoreError> {
    let seq = Seq::new(keys::last_id(ChangeRecord::TABLE, key)?);
    Ok(ChangeRecord::decode(key, value)?.into_entry(seq))
}
