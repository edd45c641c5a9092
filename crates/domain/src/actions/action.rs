//! What somebody wants to do in a conversation.

use std::borrow::Cow;
use std::sync::Arc;

use godwit_protocol::conversations::Role;
use godwit_protocol::messages::{Change, LogEntry, Message};
use godwit_protocol::{ErrorCode, InviteId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::allowances::Overspent;
use crate::conversations::AccessError;
use crate::model::{
    ClientId, DetailsChange, Entry, Forwarded, InvalidField, InviteToken, Mentions, MessageBody, Reply,
    Target,
};
use crate::ports::StoreError;

/// Checked as far as it can be without looking at the conversation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Action {
    Send(Box<NewMessage>),
    /// A message that cannot be sent as it is. It is refused, unless it was sent before: then that is the answer.
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
    /// Of the server: the time of these messages is over.
    Expire {
        targets: Vec<Target>,
    },
    /// None takes the reaction back.
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
    /// Whoever is a member is removed with it.
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

/// A message that is to be sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewMessage {
    pub client_id: ClientId,
    pub body: MessageBody,
    pub reply: Option<Reply>,
    pub forwarded_from: Option<Forwarded>,
    pub mentions: Mentions,
}

/// What came of an action. It is durable.
#[derive(Debug, Clone)]
pub struct Done {
    /// The entries that say it, in order; none where it was so already.
    pub entries: Vec<Arc<Entry>>,
    /// The same as the wire has them.
    pub shown: Vec<Arc<LogEntry>>,
    /// A message that was sent before with the same client id: this is the original.
    pub repeated: bool,
}

/// Why an action was not done.
#[derive(Debug, Clone, Error, Serialize, Deserialize)]
pub enum Refusal {
    /// Who is not a member is not told what exists.
    #[error("no such conversation or message")]
    NotFound,
    #[error("the role or the permissions of the conversation do not allow it")]
    Forbidden,
    #[error("this kind of conversation does not support that")]
    WrongKind,
    #[error("one of you has blocked the other")]
    Blocked,
    /// Whoever does it, or in whose name it happens.
    #[error("the account has been disabled")]
    Disabled,
    #[error("this cannot be done with oneself")]
    NotWithSelf,
    #[error("the message that is replied to is not in this conversation")]
    ReplyNotFound,
    #[error("the message that is forwarded cannot be seen by the sender, or is not for forwarding")]
    ForwardNotFound,
    #[error("the message has been deleted or has disappeared")]
    MessageGone,
    #[error("the message is too old to be edited")]
    EditWindowOver,
    #[error("messages of this kind cannot be edited")]
    NotEditable,
    #[error("the message has been edited too often")]
    TooManyEdits,
    #[error("the message has too many different reactions")]
    TooManyReactions,
    #[error("a conversation needs an owner")]
    LastOwner,
    #[error("the user is a member already")]
    AlreadyMember,
    #[error("the conversation has as many members as it can have")]
    TooManyMembers,
    #[error("the conversation has as many owners and admins as it can have")]
    TooManyStaff,
    #[error("the user is in as many large conversations as anybody can be")]
    TooManyConversations,
    #[error("as many users are banned from the conversation as can be")]
    TooManyBans,
    #[error("the conversation has as many pinned messages as it can have")]
    TooManyPins,
    #[error("the conversation has as many invite links as it can have")]
    TooManyInvites,
    #[error("the list is full")]
    ListFull,
    #[error("{reason}")]
    TooOften { reason: String, retry_after_secs: u32 },
    #[error("the invite link cannot be used")]
    InviteInvalid,
    #[error(transparent)]
    Invalid(#[from] InvalidField),
    #[error("too many actions wait in this conversation")]
    Busy,
    /// It is unknown whether it was done: do it again; a message with the same client id.
    #[error("it was interrupted: {0}")]
    Interrupted(Cow<'static, str>),
    /// The same, because of the store.
    #[error(transparent)]
    Store(#[serde(with = "as_text")] Arc<StoreError>),
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

    /// Whether doing it twice is doing it once, and is answered like that.
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

    /// Content, in bytes.
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
    /// It was so already.
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

impl Refusal {
    /// The code by which clients know it.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound => ErrorCode::NotFound,
            Self::Forbidden => ErrorCode::Forbidden,
            Self::WrongKind => ErrorCode::WrongKind,
            Self::Blocked => ErrorCode::Blocked,
            Self::Disabled => ErrorCode::AccountDisabled,
            Self::NotWithSelf => ErrorCode::NotWithSelf,
            Self::ReplyNotFound => ErrorCode::ReplyNotFound,
            Self::ForwardNotFound => ErrorCode::ForwardNotFound,
            Self::MessageGone => ErrorCode::MessageGone,
            Self::EditWindowOver => ErrorCode::EditWindowOver,
            Self::NotEditable => ErrorCode::NotEditable,
            Self::TooManyEdits => ErrorCode::TooManyEdits,
            Self::TooManyReactions => ErrorCode::TooManyReactions,
            Self::LastOwner => ErrorCode::LastOwner,
            Self::AlreadyMember => ErrorCode::AlreadyMember,
            Self::TooManyMembers => ErrorCode::TooManyMembers,
            Self::TooManyStaff => ErrorCode::TooManyStaff,
            Self::TooManyConversations => ErrorCode::TooManyConversations,
            Self::TooManyBans => ErrorCode::TooManyBans,
            Self::TooManyPins => ErrorCode::TooManyPins,
            Self::TooManyInvites => ErrorCode::TooManyInvites,
            Self::ListFull => ErrorCode::ListFull,
            Self::TooOften { .. } => ErrorCode::RateLimited,
            Self::InviteInvalid => ErrorCode::InviteInvalid,
            Self::Invalid(_) => ErrorCode::InvalidField,
            Self::Busy | Self::Interrupted(_) => ErrorCode::Unavailable,
            Self::Store(error) => match **error {
                StoreError::Unavailable { .. } | StoreError::Stopped => ErrorCode::Unavailable,
                StoreError::Corrupt { .. } => ErrorCode::Internal,
            },
        }
    }

    /// Whether the server could not, rather than the user may not.
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Busy | Self::Interrupted(_) | Self::Store(_))
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}

impl From<Overspent> for Refusal {
    fn from(overspent: Overspent) -> Self {
        let reason = overspent.to_string();
        match overspent {
            Overspent::Over { retry_after_secs, .. } => Self::TooOften { reason, retry_after_secs },
            Overspent::Store(error) => error.into(),
        }
    }
}

impl From<AccessError> for Refusal {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::NotFound => Self::NotFound,
            AccessError::Store(error) => error.into(),
        }
    }
}

/// What another node's store said, for those who get it from there.
mod as_text {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    use crate::ports::StoreError;

    pub(super) fn serialize<S: Serializer>(error: &StoreError, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&error.to_string())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<StoreError>, D::Error> {
        let source = String::deserialize(deserializer)?.into();
        Ok(Arc::new(StoreError::Unavailable { operation: "do it on another node", source }))
    }
}
