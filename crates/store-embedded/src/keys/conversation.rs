//! Conversations: their parts, cursor moves, message states, reactions and replies.

use godwit_domain::model::{ClientId, UserPair};
use godwit_domain::ports::{DueExpiry, StoreError};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::builder::{KeyBuilder, just_after};
use super::{Key, KeyRange, first_ids, last_ids, malformed, state};

/// A mark of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Delivered,
    Read,
}

/// The rows of one conversation under tag 50, in key order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConversationPart {
    Conversation,
    Head,
    Details,
    Member(UserId),
    Cursor(UserId),
    Concealed(UserId),
}

/// The range of all [`ConversationPart`] rows of a conversation.
pub(crate) fn conversation_parts(id: ConversationId) -> KeyRange {
    state(0x50).id(id.get()).range()
}

/// The same rows of all conversations after `after`, in the order of their ids.
pub(crate) fn conversations_after(after: Option<ConversationId>) -> KeyRange {
    let all = state(0x50).range();
    match after {
        Some(after) => KeyRange { start: conversation_parts(after).end, ..all },
        None => all,
    }
}

/// The conversation in a key of [`conversation_parts`].
pub(crate) fn conversation_of(key: &[u8]) -> Result<ConversationId, StoreError> {
    let [id] = first_ids("conversations", key)?;
    Ok(ConversationId::new(id))
}

pub(crate) fn conversation(id: ConversationId) -> Key {
    state(0x50).id(id.get()).bytes(&[0x00]).key()
}

pub(crate) fn head(id: ConversationId) -> Key {
    state(0x50).id(id.get()).bytes(&[0x01]).key()
}

pub(crate) fn details(id: ConversationId) -> Key {
    state(0x50).id(id.get()).bytes(&[0x02]).key()
}

pub(crate) fn member(id: ConversationId, user: UserId) -> Key {
    of_members(id).id(user.get()).key()
}

pub(crate) fn members_after(id: ConversationId, after: Option<UserId>) -> KeyRange {
    of_members(id).after(after.map(UserId::get))
}

pub(crate) fn cursor(id: ConversationId, user: UserId) -> Key {
    of_cursors(id).id(user.get()).key()
}

/// The cursors of members from `first` through `last`.
pub(crate) fn cursors(id: ConversationId, first: UserId, last: UserId) -> KeyRange {
    of_cursors(id).span(first.get(), last.get())
}

pub(crate) fn cursors_after(id: ConversationId, after: Option<UserId>) -> KeyRange {
    of_cursors(id).after(after.map(UserId::get))
}

pub(crate) fn concealed(id: ConversationId, user: UserId) -> Key {
    of_concealed(id).id(user.get()).key()
}

/// What the users from `first` through `last` have deleted for themselves.
pub(crate) fn all_concealed(id: ConversationId, first: UserId, last: UserId) -> KeyRange {
    of_concealed(id).span(first.get(), last.get())
}

/// Decodes a key of [`conversation_parts`].
pub(crate) fn decode_part(key: &[u8]) -> Result<ConversationPart, StoreError> {
    let user = |id: &[u8]| id.try_into().map(|id| UserId::new(u64::from_be_bytes(id)));
    match key.get(9..).and_then(<[u8]>::split_first) {
        Some((0x00, [])) => Ok(ConversationPart::Conversation),
        Some((0x01, [])) => Ok(ConversationPart::Head),
        Some((0x02, [])) => Ok(ConversationPart::Details),
        Some((0x03, id)) => user(id).map(ConversationPart::Member).map_err(|_| malformed("members", key)),
        Some((0x04, id)) => user(id).map(ConversationPart::Cursor).map_err(|_| malformed("cursors", key)),
        Some((0x05, id)) => {
            user(id).map(ConversationPart::Concealed).map_err(|_| malformed("concealed", key))
        }
        _ => Err(malformed("conversations", key)),
    }
}

pub(crate) fn pair(pair: UserPair) -> Key {
    state(0x51).id(pair.low().get()).id(pair.high().get()).key()
}

pub(crate) fn cursor_move(id: ConversationId, user: UserId, mark: Mark, seq: Seq) -> Key {
    of_moves(id, user, mark).id(seq.get()).key()
}

/// The moves of a mark that reached `seq`, the first one first.
pub(crate) fn moves_reaching(id: ConversationId, user: UserId, mark: Mark, seq: Seq) -> KeyRange {
    let start = of_moves(id, user, mark).id(seq.get()).key().bytes;
    KeyRange { start, ..of_moves(id, user, mark).range() }
}

/// All moves of users after `after`, in the order of their ids.
pub(crate) fn moves_after(id: ConversationId, after: Option<UserId>) -> KeyRange {
    let of_conversation = || state(0x52).id(id.get());
    let all = of_conversation().range();
    match after {
        Some(after) => KeyRange { start: of_conversation().id(after.get()).range().end, ..all },
        None => all,
    }
}

/// Decodes a key of [`moves_after`].
pub(crate) fn decode_move(key: &[u8]) -> Result<(UserId, Mark, Seq), StoreError> {
    let number = |bytes: Option<&[u8]>| bytes.and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
    let mark = match key.get(17) {
        Some(0) => Some(Mark::Delivered),
        Some(1) => Some(Mark::Read),
        _ => None,
    };
    match (number(key.get(9..17)), mark, number(key.get(18..))) {
        (Some(user), Some(mark), Some(seq)) => Ok((UserId::new(user), mark, Seq::new(seq))),
        _ => Err(malformed("cursor moves", key)),
    }
}

pub(crate) fn made_with(maker: UserId, key: &ClientId) -> Key {
    state(0x53).id(maker.get()).bytes(key.as_str().as_bytes()).key()
}

/// The conversations made with keys, after this key.
pub(crate) fn made_after(after: Option<(UserId, &ClientId)>) -> KeyRange {
    let all = state(0x53).range();
    match after {
        Some((maker, key)) => KeyRange { start: just_after(&made_with(maker, key).bytes), ..all },
        None => all,
    }
}

/// Decodes a key of [`made_after`].
pub(crate) fn decode_made(key: &[u8]) -> Result<(UserId, ClientId), StoreError> {
    let [maker] = first_ids("keys", key)?;
    let text = str::from_utf8(&key[9..]).map_err(|_| malformed("keys", key))?;
    Ok((UserId::new(maker), ClientId::from_stored(text)))
}

pub(crate) fn message_state(id: ConversationId, seq: Seq) -> Key {
    state(0x54).id(id.get()).id(seq.get()).key()
}

/// The states of the messages from `first` through `last`.
pub(crate) fn message_states(id: ConversationId, first: Seq, last: Seq) -> KeyRange {
    state(0x54).id(id.get()).span(first.get(), last.get())
}

pub(crate) fn reaction(id: ConversationId, seq: Seq, user: UserId) -> Key {
    state(0x55).id(id.get()).id(seq.get()).id(user.get()).key()
}

pub(crate) fn reactions_after(id: ConversationId, seq: Seq, after: Option<UserId>) -> KeyRange {
    state(0x55).id(id.get()).id(seq.get()).after(after.map(UserId::get))
}

pub(crate) fn reply(id: ConversationId, root: Seq, number: u32) -> Key {
    state(0x56).id(id.get()).id(root.get()).id(number.into()).key()
}

pub(crate) fn replies_after(id: ConversationId, root: Seq, after: u32) -> KeyRange {
    state(0x56).id(id.get()).id(root.get()).after(Some(after.into()))
}

pub(crate) fn expiry(expiry: DueExpiry) -> Key {
    state(0x57).time(expiry.at).id(expiry.conversation.get()).id(expiry.seq.get()).key()
}

/// The messages whose time to disappear was at or before `now`, the earliest first.
pub(crate) fn expiries_until(now: Timestamp) -> KeyRange {
    state(0x57).until(now)
}

/// Decodes a key of [`expiries_until`].
pub(crate) fn decode_expiry(key: &[u8]) -> Result<DueExpiry, StoreError> {
    let [at, conversation, seq] = last_ids("expiries", key)?;
    Ok(DueExpiry {
        at: Timestamp::from_millis(at.cast_signed()),
        conversation: ConversationId::new(conversation),
        seq: Seq::new(seq),
    })
}

fn of_members(id: ConversationId) -> KeyBuilder {
    state(0x50).id(id.get()).bytes(&[0x03])
}

fn of_cursors(id: ConversationId) -> KeyBuilder {
    state(0x50).id(id.get()).bytes(&[0x04])
}

fn of_concealed(id: ConversationId) -> KeyBuilder {
    state(0x50).id(id.get()).bytes(&[0x05])
}

fn of_moves(id: ConversationId, user: UserId, mark: Mark) -> KeyBuilder {
    state(0x52).id(id.get()).id(user.get()).bytes(&[mark as u8])
}
