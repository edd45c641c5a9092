//! What a store writes down together with entries.

use std::sync::Arc;

use godwit_protocol::sync::GoneReason;
use godwit_protocol::{Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::model::{ConversationState, Details, Head, InviteToken, Member, MessageState};
use crate::ports::CursorMove;

/// All of it is idempotent: each part says how something is now, not how it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effects {
    /// The head after the last of the entries.
    pub head: Head,
    /// The details, if they changed.
    pub details: Option<Arc<Details>>,
    /// Members who came, changed or went, each once. Their cursors and what they have concealed are not meant: the ones only
    /// move by `cursors`, and the other is theirs to change.
    pub members: Vec<MemberWrite>,
    /// What became of messages, each once.
    pub messages: Vec<(Seq, MessageState)>,
    /// Entries (messages and edits) of which no content may stay: see [`Change::erase`](crate::model::Change::erase).
    pub erase: Vec<Seq>,
    /// Reactions, each user and message once.
    pub reactions: Vec<ReactionWrite>,
    pub replies: Vec<ThreadReply>,
    /// Messages that are to disappear.
    pub expiries: Vec<Expiry>,
    /// Where the tokens of invites lead: to this conversation, or nowhere any more.
    pub invites: Vec<InviteWrite>,
    /// The senders, read up to their own last message, and those who joined, read up to that. Forward only, and kept as
    /// moves. They write no [`AccountChange::ReadMoved`](crate::model::AccountChange::ReadMoved): the entry itself says it.
    pub cursors: Vec<CursorMove>,
    /// Members whose inbox rows follow the activity of the conversation, in the order of their ids. None if nothing was
    /// shown, or if the conversation is fanned out on read.
    pub follow: Vec<UserId>,
    /// Members whose rows in the order of change move to the time of the head, in the order of their ids: the last entry is
    /// not shown, so that no activity tells of it to somebody who comes back. None if the conversation is fanned out on
    /// read.
    pub touch: Vec<UserId>,
    /// Members in whose inbox the conversation appears from now on, if it is not there yet. Each gets a note
    /// [`AccountChange::ConversationListed`](crate::model::AccountChange::ConversationListed) at the time of the head.
    pub list: Vec<UserId>,
    /// Those from whose inbox it goes, with the settings that they had. Each gets a note
    /// [`AccountChange::ConversationGone`](crate::model::AccountChange::ConversationGone) at the time of the head.
    pub unlist: Vec<Unlisting>,
    /// Members whose rows do not follow any more, because from now on the conversation is fanned out on read.
    pub cross: Vec<UserId>,
}

/// Somebody who has lost the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unlisting {
    pub user_id: UserId,
    /// The entry that it follows from.
    pub seq: Seq,
    pub reason: GoneReason,
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
    /// None when it was taken back.
    pub reaction: Option<Box<str>>,
    pub at: Timestamp,
}

/// A reply, and its place in the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadReply {
    pub root: Seq,
    /// 1 for the first.
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
    /// The state after the entries.
    pub fn apply_to(&self, state: &mut ConversationState) {
        apply(state, &self.head, self.details.as_ref(), &self.members, &self.cursors);
    }
}

/// What effects make of a state.
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
                // Somebody may have deleted more for themselves since the effects were thought out.
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
