//! The changes that a store writes together with the entries of an append.

use std::sync::Arc;

use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::model::{
    AccountChange, AccountNote, ConversationState, Details, Head, InviteToken, Member, MessageState,
};
use crate::ports::CursorMove;

/// Every part is idempotent: it holds the new value, not the difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effects {
    /// The head after the last entry.
    pub head: Head,
    /// The new details, if they changed.
    pub details: Option<Arc<Details>>,
    /// Members who joined, changed or left, one write per member. A store ignores their cursors and their concealed entries:
    /// cursors move only through `cursors`, and only the member changes what is concealed.
    pub members: Vec<MemberWrite>,
    /// The new states of messages, one per message.
    pub messages: Vec<(Seq, MessageState)>,
    /// Entries (messages and edits) whose content the store must erase: see [`Change::erase`](crate::model::Change::erase).
    pub erase: Vec<Seq>,
    /// Changed reactions, one write per user and message.
    pub reactions: Vec<ReactionWrite>,
    pub replies: Vec<ThreadReply>,
    /// Messages that will expire.
    pub expiries: Vec<Expiry>,
    /// Invite tokens that become valid or invalid.
    pub invites: Vec<InviteWrite>,
    /// Cursors of the senders, read up to their last message, and of the new members, read up to their joining. Cursors only
    /// move forward, and stores keep them as moves. They write no
    /// [`AccountChange::ReadMoved`](crate::model::AccountChange::ReadMoved): the entry itself tells every device.
    pub cursors: Vec<CursorMove>,
    /// Members whose inbox rows move with the activity of the conversation, sorted by id. Empty if no entry is shown, or if
    /// the conversation is fanned out on read.
    pub follow: Vec<UserId>,
    /// Members whose rows in the order of change move to the time of the head, sorted by id. This is for a last entry that
    /// is not shown: the order of activity does not move, so `sync` finds the change through these rows. Empty if the
    /// conversation is fanned out on read.
    pub touch: Vec<UserId>,
    /// Members whose inbox lists the conversation from now on, if it does not list it already. Each gets a note
    /// [`AccountChange::ConversationListed`](crate::model::AccountChange::ConversationListed) at the time of the head.
    pub list: Vec<UserId>,
    /// Users whose inbox loses the conversation, together with their settings for it. Each gets a note
    /// [`AccountChange::ConversationGone`](crate::model::AccountChange::ConversationGone) at the time of the head.
    pub unlist: Vec<Unlisting>,
    /// Members whose rows no longer move, because the conversation is fanned out on read from now on.
    pub cross: Vec<UserId>,
}

/// A user who has lost the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unlisting {
    pub user_id: UserId,
    /// The entry that caused it.
    pub seq: Seq,
    pub reason: GoneReason,
}

impl Unlisting {
    /// The note about it in the user's account log.
    pub const fn note(&self, conversation: ConversationId, at: Timestamp) -> AccountNote {
        let change = AccountChange::ConversationGone(conversation, self.reason);
        AccountNote { user_id: self.user_id, at, change }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemberWrite {
    Put(Member),
    Remove(UserId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactionWrite {
    pub seq: Seq,
    pub user_id: UserId,
    /// `None` if the user removed the reaction.
    pub reaction: Option<Box<str>>,
    pub at: Timestamp,
}

/// A reply and its number in the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadReply {
    pub root: Seq,
    /// 1 for the first reply.
    pub number: u32,
    pub seq: Seq,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    pub at: Timestamp,
    pub seq: Seq,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InviteWrite {
    pub token: InviteToken,
    pub usable: bool,
}

impl Effects {
    /// Applies the effects to the state that they were computed from.
    pub fn apply_to(&self, state: &mut ConversationState) {
        apply(state, &self.head, self.details.as_ref(), &self.members, &self.cursors);
    }
}

/// Applies the parts of the effects that a [`ConversationState`] holds.
pub(crate) fn apply(
    state: &mut ConversationState,
    head: &Head,
    details: Option<&Arc<Details>>,
    members: &[MemberWrite],
    cursors: &[CursorMove],
) {
    state.head = head.clone();
    if let Some(details) = details {
        state.details = details.clone();
    }
    if !state.is_whole() {
        state.members = Vec::new();
        return;
    }
    for write in members {
        match write {
            MemberWrite::Put(member) => {
                let known = state.member(member.user_id);
                let (cursor, moved_at) =
                    known.map_or_else(Default::default, |known| (known.cursor, known.moved_at));
                // The member may have concealed more since the effects were computed.
                let concealed = known.map_or(member.concealed, |known| known.concealed.and(member.concealed));
                state.put_member(Member { cursor, moved_at, concealed, ..member.clone() });
            }
            MemberWrite::Remove(user) => state.remove_member(*user),
        }
    }
    for moved in cursors {
        if let Some(member) = state.member_mut(moved.user_id) {
            member.move_to(moved.cursor, moved.at);
        }
    }
}

impl MemberWrite {
    pub const fn user_id(&self) -> UserId {
        match self {
            Self::Put(member) => member.user_id,
            Self::Remove(user) => *user,
        }
    }
}
