//! Random changes of a conversation, as entries of one append.

use proptest::option;
use proptest::prelude::*;

use super::ops::{CHOICES, USERS};

#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// Skipped if the client id was used before.
    Say {
        by: u8,
        client_id: u8,
        how: Say,
    },
    Edit {
        message: u8,
        calls: Option<u8>,
    },
    Delete {
        by: u8,
        message: u8,
    },
    Expire {
        message: u8,
    },
    React {
        by: u8,
        message: u8,
        reaction: u8,
    },
    TakeBack {
        reaction: u8,
    },
    Pin {
        by: u8,
        message: u8,
    },
    Unpin {
        by: u8,
        message: u8,
    },
    Add {
        by: u8,
        user: u8,
        crosses: bool,
    },
    Join {
        user: u8,
        invite: Option<u8>,
        crosses: bool,
    },
    Leave {
        user: u8,
    },
    Remove {
        by: u8,
        user: u8,
    },
    /// A member or another user.
    Ban {
        by: u8,
        user: u8,
    },
    Unban {
        by: u8,
    },
    SetRole {
        by: u8,
        user: u8,
        role: u8,
    },
    Transfer {
        by: u8,
        user: u8,
    },
    Change {
        by: u8,
        what: u8,
    },
    Invite {
        by: u8,
    },
    Revoke {
        by: u8,
        invite: u8,
    },
    DeleteConversation {
        by: u8,
    },
    Filler,
}

#[derive(Debug, Clone, Copy)]
pub enum Say {
    Plainly,
    Calling { user: u8, all: bool },
    ForAWhile { ms: u32 },
    Replying { message: u8 },
}

pub(super) fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => any_message(),
        12 => any_step_on_a_message(),
        6 => any_step_on_members(),
        5 => any_step_on_details(),
        2 => Just(Step::Filler),
    ]
}

fn any_message() -> impl Strategy<Value = Step> {
    let how = prop_oneof![
        3 => Just(Say::Plainly),
        2 => (0..USERS, any::<bool>()).prop_map(|(user, all)| Say::Calling { user, all }),
        1 => (0..30_000_u32).prop_map(|ms| Say::ForAWhile { ms }),
        2 => any::<u8>().prop_map(|message| Say::Replying { message }),
    ];
    (0..USERS, 0..CHOICES * 2, how).prop_map(|(by, client_id, how)| Step::Say { by, client_id, how })
}

fn any_step_on_a_message() -> impl Strategy<Value = Step> {
    // Low numbers, so that the same few users and messages change often.
    let (user, message) = (|| 0..3_u8, || 0..4_u8);
    prop_oneof![
        4 => (message(), option::of(user())).prop_map(|(message, calls)| Step::Edit { message, calls }),
        2 => (user(), message()).prop_map(|(by, message)| Step::Delete { by, message }),
        1 => message().prop_map(|message| Step::Expire { message }),
        4 => (user(), message(), 0..CHOICES)
            .prop_map(|(by, message, reaction)| Step::React { by, message, reaction }),
        3 => any::<u8>().prop_map(|reaction| Step::TakeBack { reaction }),
        2 => (user(), message()).prop_map(|(by, message)| Step::Pin { by, message }),
        1 => (user(), message()).prop_map(|(by, message)| Step::Unpin { by, message }),
    ]
}

fn any_step_on_members() -> impl Strategy<Value = Step> {
    let user = || 0..USERS;
    // One in four makes the conversation large.
    let crosses = || (0..4_u8).prop_map(|number| number == 0);
    prop_oneof![
        3 => (user(), user(), crosses()).prop_map(|(by, user, crosses)| Step::Add { by, user, crosses }),
        2 => (user(), option::of(any::<u8>()), crosses())
            .prop_map(|(user, invite, crosses)| Step::Join { user, invite, crosses }),
        2 => user().prop_map(|user| Step::Leave { user }),
        2 => (user(), user()).prop_map(|(by, user)| Step::Remove { by, user }),
        2 => (user(), user()).prop_map(|(by, user)| Step::Ban { by, user }),
        1 => user().prop_map(|by| Step::Unban { by }),
        2 => (user(), user(), 0..3_u8).prop_map(|(by, user, role)| Step::SetRole { by, user, role }),
        1 => (user(), user()).prop_map(|(by, user)| Step::Transfer { by, user }),
    ]
}

fn any_step_on_details() -> impl Strategy<Value = Step> {
    let user = || 0..USERS;
    prop_oneof![
        8 => (user(), any::<u8>()).prop_map(|(by, what)| Step::Change { by, what }),
        4 => user().prop_map(|by| Step::Invite { by }),
        2 => (user(), any::<u8>()).prop_map(|(by, invite)| Step::Revoke { by, invite }),
        1 => user().prop_map(|by| Step::DeleteConversation { by }),
    ]
}
