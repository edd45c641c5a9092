//! Actions: what users want to do in a conversation.

use std::sync::Arc;

use godwit_protocol::conversations::Role;
use godwit_protocol::messages::{Change, LogEntry, Message};
use godwit_protocol::{InviteId, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use crate::model::{
    ClientId, DetailsChange, Entry, Forwarded, InviteToken, Mentions, MessageBody, Reply, Target,
};

/// An action, validated as far as possible without the conversation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Action {
    Send(Box<NewMessage>),
    /// A message that cannot be sent. It is refused, unless it is a retry: then the original is the answer.
    Unsendable {
        client_id: ClientId,
        refusal: Box<Refusal>,
    },
    Edit {
        target: Target,
        text: Box<str>,
        mentions: Mentions,
    },
    Delete {
        target: Target,
    },
    /// By the server: these messages have expired.
    Expire {
        targets: Vec<Target>,
    },
    /// `None` removes the reaction.
    React {
        target: Target,
        reaction: Option<Box<str>>,
    },
    /// Users who exist and have not blocked the one who adds them.
    AddMembers {
        user_ids: Vec<UserId>,
    },
    Join {
        invite: Option<InviteToken>,
    },
    Leave,
    RemoveMember(UserId),
    /// Bans a user; a member is removed at the same time.
    Ban(UserId),
    Unban(UserId),
    SetRole(UserId, Role),
    TransferOwnership(UserId),
    Update(Box<DetailsChange>),
    Pin(Target),
    Unpin(Target),
    CreateInvite {
        token: InviteToken,
        client_id: Option<ClientId>,
        expires_at: Option<Timestamp>,
        uses_max: Option<u32>,
    },
    RevokeInvite(InviteId),
    DeleteConversation,
}

/// A message to send.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewMessage {
    pub client_id: ClientId,
    pub body: MessageBody,
    pub reply: Option<Reply>,
    pub forwarded_from: Option<Forwarded>,
    pub mentions: Mentions,
}

/// The outcome of an action. It is durable.
#[derive(Debug, Clone)]
pub struct Done {
    /// The log entries of the action, in order; empty if there was nothing to change.
    pub entries: Vec<Arc<Entry>>,
    /// The same entries in their wire format.
    pub shown: Vec<Arc<LogEntry>>,
    /// A retry of a message with the same client id: this is the original.
    pub repeated: bool,
}

/// All names of actions.
pub(super) const ACTION_NAMES: &[&str] = &[
    "send",
    "edit",
    "delete",
    "expire",
    "react",
    "add_members",
    "join",
    "leave",
    "remove_member",
    "ban",
    "unban",
    "set_role",
    "transfer_ownership",
    "update",
    "pin",
    "unpin",
    "create_invite",
    "revoke_invite",
    "delete_conversation",
];

impl Action {
    /// For the metrics.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Send(_) | Self::Unsendable { .. } => "send",
            Self::Edit { .. } => "edit",
            Self::Delete { .. } => "delete",
            Self::Expire { .. } => "expire",
            Self::React { .. } => "react",
            Self::AddMembers { .. } => "add_members",
            Self::Join { .. } => "join",
            Self::Leave => "leave",
            Self::RemoveMember(_) => "remove_member",
            Self::Ban(_) => "ban",
            Self::Unban(_) => "unban",
            Self::SetRole(..) => "set_role",
            Self::TransferOwnership(_) => "transfer_ownership",
            Self::Update(_) => "update",
            Self::Pin(_) => "pin",
            Self::Unpin(_) => "unpin",
            Self::CreateInvite { .. } => "create_invite",
            Self::RevokeInvite(_) => "revoke_invite",
            Self::DeleteConversation => "delete_conversation",
        }
    }

    /// True if the entries of the action [take something away](crate::model::Change::takes_away).
    pub(super) const fn takes_away(&self) -> bool {
        matches!(
            self,
            Self::Delete { .. }
                | Self::Expire { .. }
                | Self::Leave
                | Self::RemoveMember(_)
                | Self::Ban(_)
                | Self::Unpin(_)
                | Self::RevokeInvite(_)
                | Self::DeleteConversation
        )
    }

    /// True if the action is idempotent, so that a retry gets the same answer.
    pub(super) const fn can_be_repeated(&self) -> bool {
        match self {
            Self::Send(_)
            | Self::Unsendable { .. }
            | Self::Edit { .. }
            | Self::Delete { .. }
            | Self::Expire { .. }
            | Self::React { .. }
            | Self::AddMembers { .. }
            | Self::SetRole(..)
            | Self::Update(_)
            | Self::Pin(_)
            | Self::Unpin(_)
            | Self::Join { .. }
            | Self::RemoveMember(_)
            | Self::Ban(_)
            | Self::Unban(_)
            | Self::TransferOwnership(_)
            | Self::RevokeInvite(_) => true,
            Self::CreateInvite { client_id, .. } => client_id.is_some(),
            Self::Leave | Self::DeleteConversation => false,
        }
    }

    /// The size of the content, in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::Send(message) => message.body.size_bytes(),
            Self::Edit { text, .. } => text.len(),
            Self::AddMembers { user_ids } => user_ids.len() * 8,
            _ => 0,
        }
    }
}

impl Done {
    /// The outcome of an action that changed nothing.
    pub(crate) const fn nothing() -> Self {
        Self { entries: Vec::new(), shown: Vec::new(), repeated: false }
    }

    /// The message that was sent.
    pub fn message(&self) -> Option<&Message> {
        self.shown.first().and_then(|entry| match &entry.change {
            Change::Message { message } => Some(&**message),
            _ => None,
        })
    }
}
