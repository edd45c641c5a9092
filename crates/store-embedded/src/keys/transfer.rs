//! Keys of transfers: the state of a transfer, and the parts that have changed during it.

use godwit_domain::ports::{Part, StoreError};
use godwit_protocol::{ConversationId, UserId};

use super::{
    ConversationPart, Key, KeyRange, Table, conversation_of, decode_made, decode_part, first_ids, malformed,
    state,
};

/// The part that a row belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowOf {
    Part(Part),
    /// The account of the user whom the record names. A removed row has no record, but then the row of the same
    /// device among the user's devices is removed too, and names the user.
    Device,
    /// None: the row is not copied, because it follows from other rows.
    Nothing,
}

pub(crate) fn transfer() -> Key {
    state(0x03).key()
}

/// The mark of a part that has changed.
pub(crate) fn changed(part: &Part) -> Key {
    let of_kind = |kind: u8| state(0x04).bytes(&[kind]);
    match part {
        Part::Conversation(id) => of_kind(0).id(id.get()).key(),
        Part::Creation(maker, key) => of_kind(1).id(maker.get()).bytes(key.as_str().as_bytes()).key(),
        Part::Membership(user, id) => of_kind(2).id(user.get()).id(id.get()).key(),
        Part::Account(user) => of_kind(3).id(user.get()).key(),
    }
}

pub(crate) fn all_changed() -> KeyRange {
    state(0x04).range()
}

/// Decodes a key of [`all_changed`].
pub(crate) fn decode_changed(key: &[u8]) -> Result<Part, StoreError> {
    // The kind is in the position of the tag in the part's own rows.
    let of_kind = key.get(1..).unwrap_or_default();
    match (of_kind.first(), of_kind.len()) {
        (Some(0), 9) => conversation_of(of_kind).map(Part::Conversation),
        (Some(1), _) => decode_made(of_kind).map(|(maker, key)| Part::Creation(maker, key)),
        (Some(2), 17) => membership(of_kind),
        (Some(3), 9) => account(of_kind),
        _ => Err(malformed("changed parts", key)),
    }
}

/// Every kind of row must be listed here, or its changes would be missing from a transfer. So an unknown row is
/// an error.
pub(crate) fn part_of(key: &Key) -> Result<RowOf, StoreError> {
    let bytes = &*key.bytes;
    let part = match (key.table, bytes.first()) {
        (Table::State, Some(0x50)) => conversation_of(bytes).map(|id| match decode_part(bytes) {
            // Stored with the conversation, but transferred with the membership.
            Ok(ConversationPart::Concealed(user)) => Part::Membership(user, id),
            _ => Part::Conversation(id),
        }),
        (Table::Log, Some(0x01 | 0x02)) | (Table::State, Some(0x52 | 0x54 | 0x55 | 0x56)) => {
            conversation_of(bytes).map(Part::Conversation)
        }
        (Table::State, Some(0x10 | 0x21 | 0x30 | 0x31 | 0x40 | 0x41 | 0x42 | 0x70 | 0x71 | 0x74)) => {
            account(bytes)
        }
        (Table::State, Some(0x53)) => decode_made(bytes).map(|(maker, key)| Part::Creation(maker, key)),
        (Table::State, Some(0x62 | 0x72 | 0x73)) => membership(bytes),
        (Table::State, Some(0x20)) => return Ok(RowOf::Device),
        // Rows of the store itself.
        (Table::State, Some(0x01..=0x04))
        // Owners of names, search prefixes, and blocks by the blocked user.
        | (Table::State, Some(0x11..=0x13 | 0x32))
        // Direct conversations by pair, and messages that disappear.
        | (Table::State, Some(0x51 | 0x57))
        // The order of inboxes, pins of all settings, scheduled messages by time, and hidden messages by message.
        | (Table::State, Some(0x60 | 0x61 | 0x63 | 0x64 | 0x65 | 0x66 | 0x75 | 0x76))
        | (Table::Index, _) => return Ok(RowOf::Nothing),
        _ => Err(malformed("parts", bytes)),
    };
    part.map(RowOf::Part)
}

fn account(key: &[u8]) -> Result<Part, StoreError> {
    let [user] = first_ids("accounts", key)?;
    Ok(Part::Account(UserId::new(user)))
}

fn membership(key: &[u8]) -> Result<Part, StoreError> {
    let [user, conversation] = first_ids("memberships", key)?;
    Ok(Part::Membership(UserId::new(user), ConversationId::new(conversation)))
}
