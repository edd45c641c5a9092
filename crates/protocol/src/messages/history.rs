//! The history of a conversation, its threads and pins, and the versions of a message.

use serde::{Deserialize, Serialize};

use super::Message;
#[cfg(feature = "openapi")]
use crate::shape;
use crate::{ConversationId, Position, Timestamp, UserId};

/// The `history` command of the socket. Use at most one of `before`, `after`, `around` and `before_time`; without any of
/// them, the command returns the newest messages.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReadHistory {
    pub conversation_id: ConversationId,
    /// Messages before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Position>,
    /// Messages after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Position>,
    /// Messages around and including this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<Position>,
    /// Messages sent before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_time: Option<Timestamp>,
    /// Messages per page, 1 to 200; default 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::PageLimit>))]
    pub limit: Option<u16>,
}

impl ReadHistory {
    /// The newest messages.
    pub const fn newest(conversation_id: ConversationId) -> Self {
        Self { conversation_id, before: None, after: None, around: None, before_time: None, limit: None }
    }
}

/// `GET /v1/conversations/{id}/messages` and the `history` command, always oldest first. A page may have fewer messages
/// than requested and still be followed by more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessagePage {
    pub messages: Vec<Message>,
    /// Whether there are messages before the first of the page.
    pub more_before: bool,
    /// Whether there are messages after the last of the page.
    pub more_after: bool,
}

/// `GET /v1/messages/{id}/thread`: the message that started the thread, and a page of replies, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ThreadPage {
    /// Absent if the user cannot see this message: it is older than their membership, or they deleted it for themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Message>,
    pub replies: Vec<Message>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Cursor>))]
    pub next: Option<String>,
}

/// `GET /v1/messages/{id}/edits`: the versions of a message, from the original to the current one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EditList {
    pub versions: Vec<Version>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Version {
    pub at: Timestamp,
    pub by: UserId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// `GET /v1/conversations/{id}/pins`: the most recently pinned first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PinList {
    pub pins: Vec<Pin>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Pin {
    pub by: UserId,
    pub at: Timestamp,
    pub message: Message,
}
