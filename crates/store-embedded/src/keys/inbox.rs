//! Inboxes.

use godwit_domain::ports::{ActivityPosition, StoreError};
use godwit_protocol::{ConversationId, Timestamp, UserId};

use super::builder::{KeyBuilder, just_after};
use super::{Key, KeyRange, last_ids, state};

/// A section of the inbox: archived or not, pinned or not. In the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Section {
    pub(crate) archived: bool,
    pub(crate) pinned: bool,
}

pub(crate) fn order(user: UserId, section: Section, position: ActivityPosition) -> Key {
    in_section(user, section).position(position).key()
}

/// The rows of a section in order: those after `after` with an activity not before `floor`.
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

/// Decodes a key of [`order_after`] or [`changes_after`].
pub(crate) fn decode_order(key: &[u8]) -> Result<ActivityPosition, StoreError> {
    let [at, id] = last_ids("order", key)?;
    Ok(ActivityPosition {
        at: Timestamp::from_millis((!at).cast_signed()),
        conversation: ConversationId::new(!id),
    })
}

pub(crate) fn change(user: UserId, position: ActivityPosition) -> Key {
    state(0x65).id(user.get()).position(position).key()
}

/// The rows of the order of change after `after`, and not before `floor`.
pub(crate) fn changes_after(user: UserId, after: Option<ActivityPosition>, floor: Timestamp) -> KeyRange {
    let mut range = state(0x65).id(user.get()).range();
    if let Some(position) = after {
        range.start = just_after(&change(user, position).bytes);
    }
    let oldest = ActivityPosition { at: floor, conversation: ConversationId::new(0) };
    range.end = just_after(&change(user, oldest).bytes);
    range
}

pub(crate) fn hot_list(user: UserId) -> Key {
    state(0x61).id(user.get()).key()
}

pub(crate) fn listing(user: UserId, conversation: ConversationId) -> Key {
    state(0x62).id(user.get()).id(conversation.get()).key()
}

pub(crate) fn on_read(user: UserId, conversation: ConversationId) -> Key {
    state(0x63).id(user.get()).id(conversation.get()).key()
}

pub(crate) fn on_read_of(user: UserId) -> KeyRange {
    state(0x63).id(user.get()).range()
}

pub(crate) fn pins(user: UserId) -> Key {
    state(0x66).id(user.get()).key()
}

pub(crate) fn hot(conversation: ConversationId) -> Key {
    state(0x64).id(conversation.get()).key()
}

pub(crate) fn all_hot() -> KeyRange {
    state(0x64).range()
}

fn in_section(user: UserId, section: Section) -> KeyBuilder {
    let section = u8::from(section.archived) << 1 | u8::from(!section.pinned);
    state(0x60).id(user.get()).bytes(&[section])
}
