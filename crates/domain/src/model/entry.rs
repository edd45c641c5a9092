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
    /// A Snowflake, higher than that of the entry before. In a message it is the message's id.
    pub id: u64,
    /// How many messages the log has up to this entry, it included.
    pub ordinal: u64,
    /// Whether it stands in the history. Messages do, and so do most changes that somebody would talk about.
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
    /// The time of these messages is over.
    Expired {
        targets: Vec<Target>,
    },
    Reacted {
        target: Target,
        changes: Vec<ReactionChange>,
        /// How many there are after it.
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
    /// Who was a member is removed with it.
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
    /// The one who did it is an admin now, the other one an owner.
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
    /// Always the last entry.
    ConversationDeleted {
        by: UserId,
    },
}

/// What a conversation begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    pub by: UserId,
    pub kind: ConversationKind,
    /// All first members in the order of their ids, the maker included.
    pub member_ids: Vec<UserId>,
    /// In groups and channels.
    pub name: Box<str>,
    pub description: Option<Box<str>>,
    pub image: Option<Box<str>>,
    pub permissions: Permissions,
    pub history: HistoryVisibility,
    pub fan_out: FanOut,
}

impl Created {
    /// Of a direct conversation.
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

/// What was settled when somebody became a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoiningTerms {
    /// The first entry that they see.
    pub visible_from: Seq,
    /// With this entry there are too many members for their lists to be written.
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

    /// Content, in bytes.
    pub fn size_bytes(&self) -> usize {
        self.change.size_bytes()
    }
}

impl Change {
    /// Who made it; nobody where the server did.
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

    /// Whether somebody may see or do less after it.
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

    /// Who is no longer a member after it.
    pub const fn departed(&self) -> Option<UserId> {
        match self {
            Self::MemberLeft { user_id }
            | Self::MemberRemoved { user_id, .. }
            | Self::MemberBanned { user_id, was_member: true, .. } => Some(*user_id),
            _ => None,
        }
    }

    /// The name of what happened, for messages of the server. Others have none.
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

    /// Whether it stands in the history of a conversation of this kind. The readers of a channel come and go unseen, and so
    /// do the members of a large group; two people need not be told that they began to talk.
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

    /// The messages that it changes.
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

    /// Takes the content out: no text, no reference, not where it came from. Who was mentioned stays, because what follows
    /// from that may still have to be undone; it is not shown.
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
            Self::Reacted { changes, .. } => changes.len() * 16,
            Self::DetailsChanged { change, .. } => {
                let description = change.description.iter().flatten().map(|text| text.len()).sum::<usize>();
                description + change.image.iter().flatten().map(|text| text.len()).sum::<usize>()
            }
            _ => 0,
        }
    }
}
