//! Stars, hidden and scheduled messages.

use godwit_domain::ports::{SeqRange, StoreError};
use godwit_protocol::{ConversationId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::{Key, KeyRange, last_ids, state};

pub(crate) fn star(user: UserId, message: MessageId) -> Key {
    state(0x70).id(user.get()).id(message.get()).key()
}

pub(crate) fn stars_before(user: UserId, before: Option<MessageId>) -> KeyRange {
    let range = state(0x70).id(user.get()).range();
    match before {
        Some(before) => KeyRange { end: star(user, before).bytes, ..range },
        None => range,
    }
}

pub(crate) fn star_count(user: UserId) -> Key {
    state(0x71).id(user.get()).key()
}

pub(crate) fn hidden(user: UserId, conversation: ConversationId, seq: Seq) -> Key {
    state(0x72).id(user.get()).id(conversation.get()).id(seq.get()).key()
}

pub(crate) fn all_hidden(user: UserId, conversation: ConversationId, range: SeqRange) -> KeyRange {
    state(0x72).id(user.get()).id(conversation.get()).between(range)
}

pub(crate) fn hidden_count(user: UserId, conversation: ConversationId) -> Key {
    state(0x73).id(user.get()).id(conversation.get()).key()
}

pub(crate) fn hidden_from(conversation: ConversationId, seq: Seq, user: UserId) -> Key {
    state(0x76).id(conversation.get()).id(seq.get()).id(user.get()).key()
}

/// All users for whom a message is hidden.
pub(crate) fn all_hidden_from(conversation: ConversationId, seq: Seq) -> KeyRange {
    state(0x76).id(conversation.get()).id(seq.get()).range()
}

pub(crate) fn scheduled(user: UserId, id: ScheduledId) -> Key {
    state(0x74).id(user.get()).id(id.get()).key()
}

pub(crate) fn scheduled_of(user: UserId) -> KeyRange {
    state(0x74).id(user.get()).range()
}

pub(crate) fn due(at: Timestamp, user: UserId, id: ScheduledId) -> Key {
    state(0x75).time(at).id(user.get()).id(id.get()).key()
}

/// The scheduled messages that were due at `now`, the earliest first.
pub(crate) fn due_until(now: Timestamp) -> KeyRange {
    state(0x75).until(now)
}

/// Decodes a key of [`due_until`].
pub(crate) fn decode_due(key: &[u8]) -> Result<(UserId, ScheduledId), StoreError> {
    let [user, id] = last_ids("due", key)?;
    Ok((UserId::new(user), ScheduledId::new(id)))
}
