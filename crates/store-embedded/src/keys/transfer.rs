//! Moving everything to another store: what is known of it, and which parts have changed meanwhile.

use godwit_domain::ports::{Part, StoreError};
use godwit_protocol::{ConversationId, UserId};

use super::{
    ConversationPart, Key, KeyRange, Table, conversation_of, decode_made, decode_part, first_ids, malformed,
    state,
};

/// What a row is a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowOf {
    Part(Part),
    /// Of the account of the user whom the record names. Where there is no record any more, the row of the same device
    /// among those of the user is gone with it, and says the same.
    Device,
    /// Of nothing that is copied: it follows from other rows.
    Nothing,
}

pub(crate) fn moving() -> Key {
    state(0x03).key()
}

/// The mark of a part that was changed.
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

/// What a key of [`all_changed`] says.
pub(crate) fn decode_changed(key: &[u8]) -> Result<Part, StoreError> {
    // The kind stands in the place of the tag that the part's own rows have.
    let of_kind = key.get(1..).unwrap_or_default();
    match (of_kind.first(), of_kind.len()) {
        (Some(0), 9) => conversation_of(of_kind).map(Part::Conversation),
        (Some(1), _) => decode_made(of_kind).map(|(maker, key)| Part::Creation(maker, key)),
        (Some(2), 17) => membership(of_kind),
        (Some(3), 9) => account(of_kind),
        _ => Err(malformed("changed parts", key)),
    }
}

/// Every kind of row has to be named here: were one forgotten, its changes would be lost when they are moved. So a row
/// that is not known is an error.
pub(crate) fn part_of(key: &Key) -> Result<RowOf, StoreError> {
    let bytes = &*key.bytes;
    let part = match (key.table, bytes.first()) {
        (Table::State, Some(0x50)) => conversation_of(bytes).map(|id| match decode_part(bytes) {
            // What somebody has deleted for themselves stands with the conversation, and goes with the membership.
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
        // The store's own.
        (Table::State, Some(0x01..=0x04))
        // Who has which name, and is found by which beginning, and who blocks whom.
        | (Table::State, Some(0x11..=0x13 | 0x32))
        // The conversation of a pair, and what is to disappear.
        | (Table::State, Some(0x51 | 0x57))
        // The order of inboxes, when scheduled messages are due, and from whom messages are hidden.
        | (Table::State, Some(0x60 | 0x61 | 0x63 | 0x64 | 0x65 | 0x75 | 0x76))
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
