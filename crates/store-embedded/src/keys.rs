//! The key layout. Every key is encoded and decoded in this file.
//!
//! The first byte of a key is the tag of its kind. Ids, sequence numbers and times are big-endian, so that the order of
//! keys is their order; `~` is the complement, for the opposite order. Each table is a tree of its own in the engine,
//! because their rows live differently: log rows are large and never change, index rows are small and are asked for by
//! exact key, and rows of the state are overwritten all the time.
//!
//! ```text
//! log
//! ├─ 01 conversation seq                      a message
//! └─ 02 conversation seq                      any other change
//! index
//! ├─ 01 conversation sender client-id         seq of the message sent with this client id
//! └─ 02 message                               its conversation and seq
//! state
//! ├─ 01                                       the highest id given out
//! ├─ 02                                       the signing key
//! ├─ 10 user                                  a user
//! ├─ 11 handle                                whose it is
//! ├─ 12 subject                               whose it is
//! ├─ 13 prefix 00 user                        who is found by the beginning of a word
//! ├─ 20 device                                a device
//! ├─ 21 user device                           devices of a user
//! ├─ 30 user blocked                          whom a user blocks
//! ├─ 31 user                                  how many they are
//! ├─ 40 user seq                              an entry of the account log
//! ├─ 41 user subject                          seq of the entry about this subject
//! ├─ 42 user                                  where the account log begins and ends
//! ├─ 50 conversation                          (one range: a conversation is loaded with one scan)
//! │     ├─ 00                                 what it is
//! │     ├─ 01                                 head
//! │     ├─ 02 user                            a member
//! │     └─ 03 user                            the cursor of a member
//! ├─ 51 low high                              the direct conversation of a pair
//! ├─ 52 conversation user mark seq            when a cursor came to seq
//! ├─ 60 user section ~activity ~conversation  the inbox in its order, see `order.rs`
//! ├─ 61 user                                  conversations whose row in 60 is behind
//! └─ 62 user conversation                     listing and settings
//! ```

mod builder;

use godwit_domain::model::{AccountSubject, ClientId, UserPair};
use godwit_domain::ports::{ActivityPosition, SeqRange, StoreError};
use godwit_protocol::{ConversationId, DeviceId, MessageId, Seq, Timestamp, UserId};

use self::builder::{KeyBuilder, just_after};
use crate::engine::Bytes;

/// A tree of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Table {
    Log,
    Index,
    State,
}

/// Where a row is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) table: Table,
    pub(crate) bytes: Bytes,
}

/// The keys from `start` up to `end`, which is not included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) table: Table,
    pub(crate) start: Bytes,
    pub(crate) end: Bytes,
}

/// Which list of the inbox, and which part of it. In the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Section {
    pub(crate) archived: bool,
    pub(crate) pinned: bool,
}

/// Which of the marks of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Delivered,
    Read,
}

/// The rows of one conversation under tag 50.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConversationPart {
    Conversation,
    Head,
    Member(UserId),
    Cursor(UserId),
}

pub(crate) fn message(conversation: ConversationId, seq: Seq) -> Key {
    log(0x01).id(conversation.get()).id(seq.get()).key()
}

pub(crate) fn change(conversation: ConversationId, seq: Seq) -> Key {
    log(0x02).id(conversation.get()).id(seq.get()).key()
}

pub(crate) fn messages(conversation: ConversationId, range: SeqRange) -> KeyRange {
    log(0x01).id(conversation.get()).between(range)
}

pub(crate) fn changes(conversation: ConversationId, range: SeqRange) -> KeyRange {
    log(0x02).id(conversation.get()).between(range)
}

pub(crate) fn client_id(conversation: ConversationId, sender: UserId, client_id: &ClientId) -> Key {
    index(0x01).id(conversation.get()).id(sender.get()).bytes(client_id.as_str().as_bytes()).key()
}

pub(crate) fn location(message: MessageId) -> Key {
    index(0x02).id(message.get()).key()
}

pub(crate) fn highest_id() -> Key {
    state(0x01).key()
}

pub(crate) fn signing_key() -> Key {
    state(0x02).key()
}

pub(crate) fn user(id: UserId) -> Key {
    state(0x10).id(id.get()).key()
}

pub(crate) fn users_after(after: Option<UserId>) -> KeyRange {
    state(0x10).after(after.map(UserId::get))
}

pub(crate) fn handle(handle: &str) -> Key {
    state(0x11).bytes(handle.as_bytes()).key()
}

pub(crate) fn subject(subject: &str) -> Key {
    state(0x12).bytes(subject.as_bytes()).key()
}

pub(crate) fn prefix(prefix: &str, user: UserId) -> Key {
    of_prefix(prefix).id(user.get()).key()
}

pub(crate) fn prefix_after(prefix: &str, after: Option<UserId>) -> KeyRange {
    of_prefix(prefix).after(after.map(UserId::get))
}

pub(crate) fn device(id: DeviceId) -> Key {
    state(0x20).id(id.get()).key()
}

pub(crate) fn device_of(user: UserId, device: DeviceId) -> Key {
    state(0x21).id(user.get()).id(device.get()).key()
}

pub(crate) fn devices_of(user: UserId) -> KeyRange {
    state(0x21).id(user.get()).range()
}

pub(crate) fn block(user: UserId, blocked: UserId) -> Key {
    state(0x30).id(user.get()).id(blocked.get()).key()
}

pub(crate) fn blocks_after(user: UserId, after: Option<UserId>) -> KeyRange {
    state(0x30).id(user.get()).after(after.map(UserId::get))
}

pub(crate) fn block_count(user: UserId) -> Key {
    state(0x31).id(user.get()).key()
}

pub(crate) fn account_entry(user: UserId, seq: u64) -> Key {
    state(0x40).id(user.get()).id(seq).key()
}

pub(crate) fn account_entries_after(user: UserId, after: u64) -> KeyRange {
    state(0x40).id(user.get()).after(Some(after))
}

pub(crate) fn account_subject(user: UserId, subject: AccountSubject) -> Key {
    let (kind, id) = match subject {
        AccountSubject::Listing(id) => (0, id.get()),
        AccountSubject::Settings(id) => (1, id.get()),
        AccountSubject::Read(id) => (2, id.get()),
        AccountSubject::Block(id) => (3, id.get()),
        AccountSubject::Profile => (4, 0),
        AccountSubject::Device(id) => (5, id.get()),
    };
    state(0x41).id(user.get()).bytes(&[kind]).id(id).key()
}

pub(crate) fn account_head(user: UserId) -> Key {
    state(0x42).id(user.get()).key()
}

/// Everything that [`ConversationPart`] names.
pub(crate) fn conversation_parts(id: ConversationId) -> KeyRange {
    state(0x50).id(id.get()).range()
}

pub(crate) fn conversation(id: ConversationId) -> Key {
    state(0x50).id(id.get()).bytes(&[0x00]).key()
}

pub(crate) fn head(id: ConversationId) -> Key {
    state(0x50).id(id.get()).bytes(&[0x01]).key()
}

pub(crate) fn member(id: ConversationId, user: UserId) -> Key {
    state(0x50).id(id.get()).bytes(&[0x02]).id(user.get()).key()
}

pub(crate) fn members(id: ConversationId) -> KeyRange {
    state(0x50).id(id.get()).bytes(&[0x02]).range()
}

pub(crate) fn cursor(id: ConversationId, user: UserId) -> Key {
    state(0x50).id(id.get()).bytes(&[0x03]).id(user.get()).key()
}

pub(crate) fn pair(pair: UserPair) -> Key {
    state(0x51).id(pair.low().get()).id(pair.high().get()).key()
}

pub(crate) fn cursor_move(id: ConversationId, user: UserId, mark: Mark, seq: Seq) -> Key {
    moves(id, user, mark).id(seq.get()).key()
}

/// The moves of a mark that reached `seq`, the first one first.
pub(crate) fn moves_reaching(id: ConversationId, user: UserId, mark: Mark, seq: Seq) -> KeyRange {
    let start = moves(id, user, mark).id(seq.get()).key().bytes;
    KeyRange { start, ..moves(id, user, mark).range() }
}

pub(crate) fn order(user: UserId, section: Section, position: ActivityPosition) -> Key {
    in_section(user, section).position(position).key()
}

/// A section of the inbox in its order: those after `after`, whose activity is not before `floor`.
pub(crate) fn order_after(
    user: UserId,
    section: Section,
    after: Option<ActivityPosition>,
    floor: Option<Timestamp>,
) -> KeyRange {
    let mut range = in_section(user, section).range();
    if let Some(position) = after {
        range.start = just_after(&order(user, section, position).bytes);
    }
    if let Some(at) = floor {
        let oldest = ActivityPosition { at, conversation: ConversationId::new(0) };
        range.end = just_after(&order(user, section, oldest).bytes);
    }
    range
}

pub(crate) fn hot(user: UserId) -> Key {
    state(0x61).id(user.get()).key()
}

pub(crate) fn hot_of_all() -> KeyRange {
    state(0x61).range()
}

pub(crate) fn listing(user: UserId, conversation: ConversationId) -> Key {
    state(0x62).id(user.get()).id(conversation.get()).key()
}

/// The id or sequence number with which a key ends.
pub(crate) fn last_id(table: &'static str, key: &[u8]) -> Result<u64, StoreError> {
    let id = key.last_chunk().map(|id| u64::from_be_bytes(*id));
    id.ok_or_else(|| malformed(table, key))
}

/// What a key of [`order_after`] says.
pub(crate) fn decode_order(key: &[u8]) -> Result<ActivityPosition, StoreError> {
    let parts = key.split_last_chunk::<8>().and_then(|(rest, id)| Some((rest.last_chunk::<8>()?, id)));
    let (at, id) = parts.ok_or_else(|| malformed("order", key))?;
    Ok(ActivityPosition {
        at: Timestamp::from_millis((!u64::from_be_bytes(*at)).cast_signed()),
        conversation: ConversationId::new(!u64::from_be_bytes(*id)),
    })
}

/// What a key of [`conversation_parts`] says.
pub(crate) fn decode_part(key: &[u8]) -> Result<ConversationPart, StoreError> {
    let user = |id: &[u8]| id.try_into().map(|id| UserId::new(u64::from_be_bytes(id)));
    match key.get(9..).and_then(<[u8]>::split_first) {
        Some((0x00, [])) => Ok(ConversationPart::Conversation),
        Some((0x01, [])) => Ok(ConversationPart::Head),
        Some((0x02, id)) => user(id).map(ConversationPart::Member).map_err(|_| malformed("members", key)),
        Some((0x03, id)) => user(id).map(ConversationPart::Cursor).map_err(|_| malformed("cursors", key)),
        _ => Err(malformed("conversations", key)),
    }
}

/// A key as errors and logs show it.
pub(crate) fn display(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn malformed(table: &'static str, key: &[u8]) -> StoreError {
    StoreError::Corrupt { table, key: display(key), reason: "the key is malformed".into() }
}

/// Neither handles nor names contain the zero byte that ends the beginning of a word.
fn of_prefix(prefix: &str) -> KeyBuilder {
    state(0x13).bytes(prefix.as_bytes()).bytes(&[0])
}

fn moves(id: ConversationId, user: UserId, mark: Mark) -> KeyBuilder {
    state(0x52).id(id.get()).id(user.get()).bytes(&[mark as u8])
}

fn in_section(user: UserId, section: Section) -> KeyBuilder {
    let section = u8::from(section.archived) << 1 | u8::from(!section.pinned);
    state(0x60).id(user.get()).bytes(&[section])
}

fn log(tag: u8) -> KeyBuilder {
    KeyBuilder::new(Table::Log, tag)
}

fn index(tag: u8) -> KeyBuilder {
    KeyBuilder::new(Table::Index, tag)
}

fn state(tag: u8) -> KeyBuilder {
    KeyBuilder::new(Table::State, tag)
}
