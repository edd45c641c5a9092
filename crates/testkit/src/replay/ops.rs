//! What can happen to a store.
//!
//! Operations name things by small numbers, so that random ones meet: the same handle, the same pair, the same client
//! id. A number that names nothing yet wraps around to what there is, so that every part of a sequence is a sequence
//! too, and a failing one shrinks.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Users of a world. All pairs of them can talk to each other.
pub const USERS: u8 = 4;
/// Handles, subjects, names, keys of devices and client ids to choose from.
pub const CHOICES: u8 = 4;
const OPS_MAX: usize = 40;

#[derive(Debug, Clone)]
pub enum Op {
    CreateUser {
        user: u8,
        handle: u8,
        subject: Option<u8>,
        name: u8,
    },
    UpdateUser {
        user: u8,
        handle: Option<u8>,
        name: Option<u8>,
        disabled: Option<bool>,
        noted: bool,
    },
    CreateDevice {
        user: u8,
        key: Option<u8>,
    },
    RotateSession {
        device: u8,
        generation: u8,
    },
    RemoveDevice {
        device: u8,
    },
    Block {
        user: u8,
        other: u8,
    },
    Unblock {
        user: u8,
        other: u8,
    },
    OpenDirect {
        by: u8,
        other: u8,
    },
    Append {
        conversation: u8,
        head: ExpectedHead,
        entries: Vec<NewEntry>,
        listed: bool,
    },
    MoveCursors {
        conversation: u8,
        lower: Option<Marks>,
        higher: Option<Marks>,
    },
    ChangeSettings {
        conversation: u8,
        by_higher: bool,
        pinned: Option<bool>,
        archived: Option<bool>,
        muted: Option<bool>,
    },
    PassTime {
        ms: u32,
    },
    Reopen,
}

/// What the caller believes of the log.
#[derive(Debug, Clone, Copy)]
pub enum ExpectedHead {
    Right,
    Behind,
    Ahead,
}

#[derive(Debug, Clone, Copy)]
pub enum NewEntry {
    /// A message of the member with the lower or the higher id. One whose client id was used is not sent again.
    Message {
        by_higher: bool,
        client_id: u8,
    },
    Filler,
}

/// Marks of a member, as places in the log; they wrap around at its end.
#[derive(Debug, Clone, Copy)]
pub struct Marks {
    pub delivered: u8,
    pub read: u8,
}

/// Sequences of operations in which conversations happen most.
pub fn any_ops() -> impl Strategy<Value = Vec<Op>> {
    vec(any_op(), 0..OPS_MAX)
}

fn any_op() -> impl Strategy<Value = Op> {
    let user = || 0..USERS;
    let choice = || 0..CHOICES;
    // Names a device or a conversation.
    let number = any::<u8>;
    let flag = any::<bool>;
    prop_oneof![
        2 => (user(), choice(), option::of(choice()), choice())
            .prop_map(|(user, handle, subject, name)| Op::CreateUser { user, handle, subject, name }),
        2 => (user(), option::of(choice()), option::of(choice()), option::of(flag()), flag()).prop_map(
            |(user, handle, name, disabled, noted)| Op::UpdateUser { user, handle, name, disabled, noted }
        ),
        2 => (user(), option::of(choice())).prop_map(|(user, key)| Op::CreateDevice { user, key }),
        1 => (number(), 0..3_u8).prop_map(|(device, generation)| Op::RotateSession { device, generation }),
        1 => number().prop_map(|device| Op::RemoveDevice { device }),
        1 => (user(), user()).prop_map(|(user, other)| Op::Block { user, other }),
        1 => (user(), user()).prop_map(|(user, other)| Op::Unblock { user, other }),
        3 => (user(), user()).prop_map(|(by, other)| Op::OpenDirect { by, other }),
        8 => (number(), any_head(), vec(any_entry(), 1..4), flag()).prop_map(
            |(conversation, head, entries, listed)| Op::Append { conversation, head, entries, listed }
        ),
        4 => (number(), option::of(any_marks()), option::of(any_marks()))
            .prop_map(|(conversation, lower, higher)| Op::MoveCursors { conversation, lower, higher }),
        3 => (number(), flag(), option::of(flag()), option::of(flag()), option::of(flag())).prop_map(
            |(conversation, by_higher, pinned, archived, muted)| {
                Op::ChangeSettings { conversation, by_higher, pinned, archived, muted }
            }
        ),
        // Moments, and longer than any store calls recent.
        4 => prop_oneof![1..20_u32, 1..200_000_u32].prop_map(|ms| Op::PassTime { ms }),
        1 => Just(Op::Reopen),
    ]
}

fn any_head() -> impl Strategy<Value = ExpectedHead> {
    prop_oneof![6 => Just(ExpectedHead::Right), 1 => Just(ExpectedHead::Behind), 1 => Just(ExpectedHead::Ahead)]
}

fn any_entry() -> impl Strategy<Value = NewEntry> {
    let message = (any::<bool>(), 0..CHOICES * 2)
        .prop_map(|(by_higher, client_id)| NewEntry::Message { by_higher, client_id });
    prop_oneof![4 => message, 1 => Just(NewEntry::Filler)]
}

fn any_marks() -> impl Strategy<Value = Marks> {
    (any::<u8>(), any::<u8>()).prop_map(|(delivered, read)| Marks { delivered, read })
}
