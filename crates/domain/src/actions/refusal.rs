//! Why an action was refused or failed.

use std::borrow::Cow;
use std::sync::Arc;

use godwit_protocol::ErrorCode;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::allowances::Overspent;
use crate::conversations::AccessError;
use crate::model::InvalidField;
use crate::own_writes::NotWritten;
use crate::ports::StoreError;

/// Why an action was refused or failed.
#[derive(Debug, Clone, Error, Serialize, Deserialize)]
pub enum Refusal {
    /// Also the answer for everything that exists but that the user may not know of.
    #[error("no such conversation or message")]
    NotFound,
    #[error("the member's role or the conversation's permissions do not allow it")]
    Forbidden,
    #[error("this kind of conversation does not support that")]
    WrongKind,
    #[error("one of you has blocked the other")]
    Blocked,
    /// The account of the actor, or of the user on whose behalf the action runs, is disabled.
    #[error("the account is disabled")]
    Disabled,
    #[error("users cannot do this to themselves")]
    NotWithSelf,
    #[error("the message to reply to is not in this conversation")]
    ReplyNotFound,
    #[error("the sender cannot see the message to forward, or it cannot be forwarded")]
    ForwardNotFound,
    #[error("the message was deleted or has expired")]
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
    #[error("the conversation has the maximum number of members")]
    TooManyMembers,
    #[error("the conversation has the maximum number of owners and admins")]
    TooManyStaff,
    #[error("the user is in the maximum number of large conversations")]
    TooManyConversations,
    #[error("the conversation has the maximum number of bans")]
    TooManyBans,
    #[error("the conversation has the maximum number of pinned messages")]
    TooManyPins,
    #[error("the conversation has the maximum number of invite links")]
    TooManyInvites,
    #[error("the list is full")]
    ListFull,
    #[error("{reason}")]
    TooOften { reason: String, retry_after_secs: u32 },
    #[error("the invite link is not valid")]
    InviteInvalid,
    #[error(transparent)]
    Invalid(#[from] InvalidField),
    #[error("too many pending actions in this conversation")]
    Busy,
    /// The outcome is unknown. The caller may retry, a message with the same client id.
    #[error("the action was interrupted: {0}")]
    Interrupted(Cow<'static, str>),
    /// Like `Interrupted`, because of the store.
    #[error(transparent)]
    Store(#[serde(with = "as_text")] Arc<StoreError>),
}

impl Refusal {
    /// The error code on the wire.
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
                StoreError::Unavailable { .. } | StoreError::Stopped | StoreError::Full => {
                    ErrorCode::Unavailable
                }
                StoreError::Corrupt { .. } => ErrorCode::Internal,
            },
        }
    }

    /// True if the server failed, and false if the user may not do it.
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Busy | Self::Interrupted(_) | Self::Store(_))
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}

impl From<NotWritten> for Refusal {
    fn from(error: NotWritten) -> Self {
        match error {
            NotWritten::Disabled => Self::Disabled,
            NotWritten::Store(error) => error.into(),
        }
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

/// Serializes a store error as its text, for other nodes.
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
        Ok(Arc::new(StoreError::Unavailable { operation: "execute the action on another server", source }))
    }
}
