//! The log: one entry for each change that members must see.

use godwit_protocol::conversations::{ConversationKind, HistoryVisibility, Permissions, Role};
use godwit_protocol::{InviteId, MessageId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::conversation::UserPair;
use super::details::{DetailsChange, FanOut, Invite, default_permissions};
use super::message::{Mentions, Message, MessageBody};
use super::message_state::ReactionCount;

/// One change in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub seq: Seq,
    /// A Snowflake id, higher than that of the previous entry. For a message it is the message id.
    pub id: u64,
    /// The number of messages in the log up to and including this entry.
    pub ordinal: u64,
    /// Whether the history shows the entry. It shows messages, and most changes that people would talk about.
    pub shown: bool,
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    Created(Box<Created>),
    Message(Message),
    Edited {
        by: UserId,
        target: Target,
        /// `None` after the message was deleted.
        text: Option<Box<str>>,
        mentions: Mentions,
    },
    Deleted {
        by: UserId,
        target: Target,
    },
    /// These messages have expired.
    Expired {
        targets: Vec<Target>,
    },
    Reacted {
        target: Target,
        changes: Vec<ReactionChange>,
        /// The counts after the change.
        counts: Vec<ReactionCount>,
    },
    MembersAdded {
        by: UserId,
        user_ids: Vec<UserId>,
        terms: JoiningTerms,
    },
    MemberJoined {
        user_id: UserId,
        invite: Option<InviteId>,
        terms: JoiningTerms,
    },
    MemberLeft {
        user_id: UserId,
    },
    MemberRemoved {
        by: UserId,
        user_id: UserId,
    },
    /// The same entry removes a banned member.
    MemberBanned {
        by: UserId,
        user_id: UserId,
        was_member: bool,
    },
    MemberUnbanned {
        by: UserId,
        user_id: UserId,
    },
    RoleChanged {
        by: UserId,
        user_id: UserId,
        role: Role,
    },
    /// `by` becomes an admin and `user_id` the owner.
    OwnershipTransferred {
        by: UserId,
        user_id: UserId,
    },
    DetailsChanged {
        by: UserId,
        change: Box<DetailsChange>,
    },
    Pinned {
        by: UserId,
        target: Target,
    },
    Unpinned {
        by: UserId,
        target: Target,
    },
    InviteCreated {
        invite: Box<Invite>,
    },
    InviteRevoked {
        by: UserId,
        invite_id: InviteId,
    },
    /// Always the last entry of a log.
    ConversationDeleted {
        by: UserId,
    },
}

/// The initial properties of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    pub by: UserId,
    pub kind: ConversationKind,
    /// The first members, sorted by id, including the creator.
    pub member_ids: Vec<UserId>,
    /// Set in groups and channels only.
    pub name: Box<str>,
    pub description: Option<Box<str>>,
    pub image: Option<Box<str>>,
    pub permissions: Permissions,
    pub history: HistoryVisibility,
    pub fan_out: FanOut,
}

impl Created {
    /// The creation of a direct conversation.
    pub fn direct(by: UserId, pair: UserPair) -> Self {
        Self {
            by,
            kind: ConversationKind::Direct,
            member_ids: vec![pair.low(), pair.high()],
            name: Box::default(),
            description: None,
            image: None,
            permissions: default_permissions(true),
            history: HistoryVisibility::All,
            fan_out: FanOut::OnWrite,
        }
    }
}

/// The message that a change is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    pub id: MessageId,
    pub seq: Seq,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReactionChange {
    pub user_id: UserId,
    pub from: Option<Box<str>>,
    pub to: Option<Box<str>>,
}

/// The terms under which a user became a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoiningTerms {
    /// The first entry that the new member sees.
    pub visible_from: Seq,
    /// Set on the entry that makes the conversation large, so that it is fanned out on read from now on.
    pub crosses_to: Option<FanOut>,
}

impl Entry {
    pub const fn at(&self) -> Timestamp {
        MessageId::new(self.id).timestamp()
    }

    pub const fn message(&self) -> Option<&Message> {
        match &self.change {
            Change::Message(message) => Some(message),
            _ => None,
        }
    }

    pub fn into_message(self) -> Option<Message> {
        match self.change {
            Change::Message(message) => Some(message),
            _ => None,
        }
    }

    /// The size of the content, in bytes.
    pub fn size_bytes(&self) -> usize {
        self.change.size_bytes()
    }
}

impl Change {
    /// True if the change takes something away, content or access, and stores hardly anything. A store accepts such changes
    /// even if it has too little room for others: otherwise people could not make room, and nobody could be removed.
    pub const fn takes_away(&self) -> bool {
        matches!(
            self,
            Self::Deleted { .. }
                | Self::Expired { .. }
                | Self::MemberLeft { .. }
                | Self::MemberRemoved { .. }
                | Self::MemberBanned { .. }
                | Self::Unpinned { .. }
                | Self::InviteRevoked { .. }
                | Self::ConversationDeleted { .. }
        )
    }

    /// The user who made the change. `None` if the server made it.
    pub const fn by(&self) -> Option<UserId> {
        match self {
            Self::Created(created) => Some(created.by),
            Self::Message(message) => Some(message.sender_id),
            Self::Edited { by, .. }
            | Self::Deleted { by, .. }
            | Self::MembersAdded { by, .. }
            | Self::MemberRemoved { by, .. }
            | Self::MemberBanned { by, .. }
            | Self::MemberUnbanned { by, .. }
            | Self::RoleChanged { by, .. }
            | Self::OwnershipTransferred { by, .. }
            | Self::DetailsChanged { by, .. }
            | Self::Pinned { by, .. }
            | Self::Unpinned { by, .. }
            | Self::InviteRevoked { by, .. }
            | Self::ConversationDeleted { by } => Some(*by),
            Self::MemberJoined { user_id, .. } | Self::MemberLeft { user_id } => Some(*user_id),
            Self::InviteCreated { invite } => Some(invite.created_by),
            Self::Reacted { .. } | Self::Expired { .. } => None,
        }
    }

    /// True if the change takes rights or content away from a user.
    pub const fn withdraws(&self) -> bool {
        match self {
            Self::Deleted { .. }
            | Self::Expired { .. }
            | Self::MemberLeft { .. }
            | Self::MemberRemoved { .. }
            | Self::MemberBanned { .. }
            | Self::RoleChanged { .. }
            | Self::OwnershipTransferred { .. }
            | Self::DetailsChanged { .. }
            | Self::InviteRevoked { .. }
            | Self::ConversationDeleted { .. } => true,
            Self::Created(_)
            | Self::Message(_)
            | Self::Edited { .. }
            | Self::Reacted { .. }
            | Self::MembersAdded { .. }
            | Self::MemberJoined { .. }
            | Self::MemberUnbanned { .. }
            | Self::Pinned { .. }
            | Self::Unpinned { .. }
            | Self::InviteCreated { .. } => false,
        }
    }

    /// The user whose membership the change ends.
    pub const fn departed(&self) -> Option<UserId> {
        match self {
            Self::MemberLeft { user_id }
            | Self::MemberRemoved { user_id, .. }
            | Self::MemberBanned { user_id, was_member: true, .. } => Some(*user_id),
            _ => None,
        }
    }

    /// The event name of a notice. `None` for changes that never become one.
    pub const fn event(&self) -> Option<&'static str> {
        Some(match self {
            Self::Created(_) => "conversation.created",
            Self::MembersAdded { .. } => "members.added",
            Self::MemberJoined { .. } => "member.joined",
            Self::MemberLeft { .. } => "member.left",
            Self::MemberRemoved { .. } => "member.removed",
            Self::MemberBanned { .. } => "member.banned",
            Self::MemberUnbanned { .. } => "member.unbanned",
            Self::RoleChanged { .. } => "role.changed",
            Self::OwnershipTransferred { .. } => "ownership.transferred",
            Self::DetailsChanged { .. } => "details.changed",
            Self::Pinned { .. } => "message.pinned",
            Self::Message(_)
            | Self::Edited { .. }
            | Self::Deleted { .. }
            | Self::Expired { .. }
            | Self::Reacted { .. }
            | Self::Unpinned { .. }
            | Self::InviteCreated { .. }
            | Self::InviteRevoked { .. }
            | Self::ConversationDeleted { .. } => return None,
        })
    }

    /// True if the history of a conversation of this kind shows the change. It does not show readers of a channel or members
    /// of a large group who join and leave, and not the beginning of a direct conversation.
    pub const fn is_shown(&self, kind: ConversationKind, fan_out: FanOut) -> bool {
        match self {
            Self::Message(_) => true,
            Self::MemberJoined { .. } | Self::MemberLeft { .. } | Self::MembersAdded { .. } => {
                matches!(kind, ConversationKind::Group) && matches!(fan_out, FanOut::OnWrite)
            }
            Self::Created(_) => !matches!(kind, ConversationKind::Direct),
            _ => self.event().is_some(),
        }
    }

    /// The messages that the entry changes.
    pub fn targets(&self) -> &[Target] {
        match self {
            Self::Edited { target, .. }
            | Self::Deleted { target, .. }
            | Self::Reacted { target, .. }
            | Self::Pinned { target, .. }
            | Self::Unpinned { target, .. } => std::slice::from_ref(target),
            Self::Expired { targets } => targets,
            _ => &[],
        }
    }

    /// Removes the content: text, media reference and origin. The mentions stay, because a later fold may have to undo their
    /// effects; they are not shown.
    pub fn erase(&mut self) {
        match self {
            Self::Message(message) => {
                message.body = MessageBody::Erased(message.body.kind());
                message.forwarded_from = None;
            }
            Self::Edited { text, .. } => *text = None,
            _ => {}
        }
    }

    fn size_bytes(&self) -> usize {
        match self {
            Self::Message(message) => message.body.size_bytes(),
            Self::Edited { text, .. } => text.as_ref().map_or(0, |text| text.len()),
            Self::Created(created) => created.member_ids.len() * 8,
            Self::MembersAdded { user_ids, .. } => user_ids.len() * 8,
            Self::Expired { targets } => targets.len() * 8,
            Self::Reacted { changes, .. } => {
                changes.iter().map(|change| 16 + change.to.as_ref().map_or(0, |to| to.len())).sum()
            }
            Self::DetailsChanged { change, .. } => {
                let description = change.description.iter().flatten().map(|text| text.len()).sum::<usize>();
                description + change.image.iter().flatten().map(|text| text.len()).sum::<usize>()
            }
            _ => 0,
        }
    }
}
