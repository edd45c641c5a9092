//! A message in its current state.

use serde::{Deserialize, Serialize};

use super::{Change, MessageStatus, ReactionCount};
#[cfg(feature = "openapi")]
use crate::shape;
use crate::{ConversationId, MessageId, Seq, Timestamp, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// `text`
    Text,
    /// `media`, and optionally `text` as its caption
    Image,
    /// `media`, and optionally `text` as its caption
    File,
    /// `media` with a duration
    Voice,
    /// `event`, and optionally `text`: an event in the application rather than something that the sender wrote
    System,
}

/// A message in its current state. A message of kind `system` with a `notice` comes from the server and reports an
/// event in the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Message {
    pub id: MessageId,
    pub conversation_id: ConversationId,
    pub seq: Seq,
    pub sender_id: UserId,
    /// Absent in messages from the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::ClientId>))]
    pub client_id: Option<String>,
    pub kind: MessageKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MessageText>))]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Box<Media>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Data of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub data: Option<serde_json::Value>,
    /// In a message from the server, the event that it reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(no_recursion))]
    pub notice: Option<Box<Change>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// The message that this one replies to, in its current state; absent if the user cannot see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Box<Quote>>,
    /// In a reply, the message that started the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded_from: Option<Forwarded>,
    #[serde(default, skip_serializing_if = "Mentions::is_empty")]
    pub mentions: Mentions,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<Timestamp>,
    /// When the message was deleted or expired. It then has no content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
    /// When the message expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reactions: Vec<ReactionCount>,
    /// The requesting user's own reaction. Events do not have it, because they are the same for everyone; `reacted`
    /// entries name the user, except in large conversations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub my_reaction: Option<String>,
    /// Number of replies in the thread that this message started, also of those that the requesting user has deleted for
    /// themselves and does not see there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replies: u32,
    /// The lowest status among the other members. Always `SENT` in large conversations, where only the receipts of the
    /// message show who has read it.
    pub status: MessageStatus,
}

/// A reference to an image, a file or a recording that is stored elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Media {
    #[cfg_attr(feature = "openapi", schema(value_type = shape::MediaUrl))]
    pub url: String,
    /// A media type such as `image/png`.
    #[cfg_attr(feature = "openapi", schema(value_type = shape::ContentType))]
    pub content_type: String,
    #[cfg_attr(feature = "openapi", schema(value_type = shape::MediaSize))]
    pub size_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MediaName>))]
    pub name: Option<String>,
    /// In pixels, only for images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MediaMeasure>))]
    pub width: Option<u32>,
    /// In pixels, only for images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MediaMeasure>))]
    pub height: Option<u32>,
    /// Only for recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MediaMeasure>))]
    pub duration_ms: Option<u32>,
}

/// The part of a message that a reply to it shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Quote {
    pub message_id: MessageId,
    pub seq: Seq,
    pub sender_id: UserId,
    pub kind: MessageKind,
    /// The beginning of the text on one line; empty if the message has no text or was deleted.
    pub preview: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// Users whom a message mentions with `@handle` or `@all`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Mentions {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_ids: Vec<UserId>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

impl Mentions {
    pub const fn is_empty(&self) -> bool {
        self.user_ids.is_empty() && !self.all
    }
}

/// Where a forwarded message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Forwarded {
    pub message_id: MessageId,
    pub sender_id: UserId,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
