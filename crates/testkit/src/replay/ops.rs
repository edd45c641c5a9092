//! Random operations on a store.
//!
//! Operations refer to things by small numbers, so that random ones collide: the same handle, the same pair, the same client
//! id. A number beyond the existing things wraps around, so every part of a sequence is a valid sequence and a failing one
//! can be shrunk. An operation that is impossible at its turn, such as leaving a conversation twice, is skipped.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::steps::{Step, any_step};

/// Users of a world. Each of them can talk to any other.
pub const USERS: u8 = 5;
/// Number of handles, subjects, names, keys and client ids.
pub const CHOICES: u8 = 5;
const OPS_MAX: usize = 50;
const STEPS_MAX: usize = 9;

#[derive(Debug, Clone)]
pub enum Op {
    CreateUser { user: u8, handle: u8, subject: Option<u8>, name: u8 },
    UpdateUser { user: u8, handle: Option<u8>, name: Option<u8>, disabled: Option<bool>, noted: bool },
    CreateDevice { user: u8, key: Option<u8> },
    RotateSession { device: u8, generation: u8 },
    RemoveDevice { device: u8 },
    Block { user: u8, other: u8 },
    Unblock { user: u8, other: u8 },
    OpenDirect { by: u8, other: u8 },
    CreateGroup { by: u8, others: Vec<u8>, channel: bool, large: bool, from_joining: bool, key: Option<u8> },
    Append { conversation: u8, head: ExpectedHead, steps: Vec<Step> },
    MoveCursors { conversation: u8, marks: Vec<(u8, Marks)> },
    ChangeSettings { conversation: u8, member: u8, change: NewSettings },
    Clear { conversation: u8, member: u8, behind: u8 },
    ForgetExpiries,
    Hide { user: u8, conversation: u8, seq: u8 },
    Star { user: u8, message: u8 },
    Unstar { user: u8, message: u8 },
    Schedule { user: u8, conversation: u8, client_id: u8, in_ms: u32 },
    ReplaceScheduled { scheduled: u8, expected: Stage, with: Option<(Stage, u32)>, noted: bool },
    PassTime { ms: u32 },
    Reopen,
}

/// The head that the caller expects.
#[derive(Debug, Clone, Copy)]
pub enum ExpectedHead {
    Right,
    Behind,
    Ahead,
}

/// Marks of a member, as positions in the log that wrap around at its end.
#[derive(Debug, Clone, Copy)]
pub struct Marks {
    pub delivered: u8,
    pub read: u8,
}

#[derive(Debug, Clone, Copy)]
pub struct NewSettings {
    pub pin: Option<Option<i8>>,
    pub archived: Option<bool>,
    pub muted: Option<bool>,
    pub marked_unread: Option<bool>,
    pub draft: Option<Option<u8>>,
}

#[derive(Debug, Clone, Copy)]
pub enum Stage {
    Waiting,
    Sending,
    Failed,
    Sent,
}

/// Sequences of operations, most of them on conversations. They start with two conversations, so that no operation is
/// skipped for lack of one.
pub fn any_ops() -> impl Strategy<Value = Vec<Op>> {
    vec(any_op(), 0..OPS_MAX).prop_map(|ops| {
        let (channel, large, from_joining, key) = (false, false, false, None);
        let group = Op::CreateGroup { by: 0, others: vec![1, 2], channel, large, from_joining, key };
        [group, Op::OpenDirect { by: 0, other: 1 }].into_iter().chain(ops).collect()
    })
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        7 => any_op_on_accounts(),
        30 => any_op_on_conversations(),
        7 => any_personal_op(),
        // Short times, and times beyond everything that a store treats as recent.
        4 => prop_oneof![1..20_u32, 1..200_000_u32].prop_map(|ms| Op::PassTime { ms }),
        1 => Just(Op::Reopen),
    ]
}

fn any_op_on_accounts() -> impl Strategy<Value = Op> {
    let (user, choice) = (|| 0..USERS, || 0..CHOICES);
    let flag = any::<bool>;
    prop_oneof![
        2 => (user(), choice(), option::of(choice()), choice())
            .prop_map(|(user, handle, subject, name)| Op::CreateUser { user, handle, subject, name }),
        2 => (user(), option::of(choice()), option::of(choice()), option::of(flag()), flag()).prop_map(
            |(user, handle, name, disabled, noted)| Op::UpdateUser { user, handle, name, disabled, noted }
        ),
        2 => (user(), option::of(choice())).prop_map(|(user, key)| Op::CreateDevice { user, key }),
        1 => (any::<u8>(), 0..3_u8)
            .prop_map(|(device, generation)| Op::RotateSession { device, generation }),
        1 => any::<u8>().prop_map(|device| Op::RemoveDevice { device }),
        1 => (user(), user()).prop_map(|(user, other)| Op::Block { user, other }),
        1 => (user(), user()).prop_map(|(user, other)| Op::Unblock { user, other }),
    ]
}

fn any_op_on_conversations() -> impl Strategy<Value = Op> {
    let user = || 0..USERS;
    // The number of a conversation.
    let number = any::<u8>;
    let flag = any::<bool>;
    prop_oneof![
        2 => (user(), user()).prop_map(|(by, other)| Op::OpenDirect { by, other }),
        2 => (user(), vec(user(), 0..4), flag(), 0..6_u8, flag(), option::of(0..CHOICES)).prop_map(
            |(by, others, channel, large, from_joining, key)| {
                Op::CreateGroup { by, others, channel, large: large == 0, from_joining, key }
            }
        ),
        16 => (number(), any_head(), vec(any_step(), 1..STEPS_MAX))
            .prop_map(|(conversation, head, steps)| Op::Append { conversation, head, steps }),
        3 => (number(), vec((user(), any_marks()), 1..4))
            .prop_map(|(conversation, marks)| Op::MoveCursors { conversation, marks }),
        3 => (number(), user(), any_settings())
            .prop_map(|(conversation, member, change)| Op::ChangeSettings { conversation, member, change }),
        2 => (number(), user(), 0..3_u8)
            .prop_map(|(conversation, member, behind)| Op::Clear { conversation, member, behind }),
        1 => Just(Op::ForgetExpiries),
    ]
}

fn any_personal_op() -> impl Strategy<Value = Op> {
    let (user, number) = (|| 0..USERS, any::<u8>);
    // Short, so that the message expires soon.
    let in_ms = || 0..30_000_u32;
    prop_oneof![
        1 => (user(), number(), 0..8_u8)
            .prop_map(|(user, conversation, seq)| Op::Hide { user, conversation, seq }),
        2 => (user(), number()).prop_map(|(user, message)| Op::Star { user, message }),
        1 => (user(), number()).prop_map(|(user, message)| Op::Unstar { user, message }),
        2 => (user(), number(), 0..CHOICES, in_ms()).prop_map(|(user, conversation, client_id, in_ms)| {
            Op::Schedule { user, conversation, client_id, in_ms }
        }),
        2 => (number(), any_stage(), option::of((any_stage(), in_ms())), any::<bool>()).prop_map(
            |(scheduled, expected, with, noted)| Op::ReplaceScheduled { scheduled, expected, with, noted }
        ),
    ]
}

fn any_head() -> impl Strategy<Value = ExpectedHead> {
    prop_oneof![8 => Just(ExpectedHead::Right), 1 => Just(ExpectedHead::Behind), 1 => Just(ExpectedHead::Ahead)]
}

fn any_marks() -> impl Strategy<Value = Marks> {
    (any::<u8>(), any::<u8>()).prop_map(|(delivered, read)| Marks { delivered, read })
}

fn any_settings() -> impl Strategy<Value = NewSettings> {
    let flag = || option::of(any::<bool>());
    (option::of(option::of(any::<i8>())), flag(), flag(), flag(), option::of(option::of(any::<u8>())))
        .prop_map(|(pin, archived, muted, marked_unread, draft)| NewSettings {
            pin,
            archived,
            muted,
            marked_unread,
            draft,
        })
}

fn any_stage() -> impl Strategy<Value = Stage> {
    prop_oneof![
        3 => Just(Stage::Waiting),
        2 => Just(Stage::Sending),
        1 => Just(Stage::Failed),
        1 => Just(Stage::Sent),
    ]
}
