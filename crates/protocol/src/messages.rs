//! Messages, history and the log: `/v1/conversations/{id}/messages`, `…/log`, `/v1/messages/{id}`.

use serde::{Deserialize, Serialize};

use crate::conversations::ConversationKind;
use crate::object::optional;
use crate::{ConversationId, MessageId, Seq, Timestamp, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// `text`
    Text,
    /// `media`, and `text` as its caption if there is one
    Image,
    /// `media`, and `text` as its caption if there is one
    File,
    /// `media` with a duration
    Voice,
    /// `event`, and `text` if there is one: something that happened rather than something that was said
    System,
}

/// `POST /v1/conversations/{id}/messages`, and the `send` command of the socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// Needed on the socket; over HTTP the path says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// Chosen by the client, unique for the sender in the conversation: 1 to 64 printable ASCII characters. Sending the
    /// same id again gives back the message that was sent first.
    pub client_id: String,
    pub kind: MessageKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub media: Option<Media>,
    /// What happened, in a message of kind `system`: `app.` and then words of `a-z 0-9 _` joined by dots, such as
    /// `app.call.ended`. Other names are the server's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// A message of the same conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// A message that the sender can see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded_from: Option<MessageId>,
}

/// A reference to an image, a file or a recording that is stored elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Media {
    /// An `https` URL.
    pub url: String,
    /// Such as `image/png`.
    pub content_type: String,
    pub size_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Pixels, for images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Pixels, for images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// For recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Message {
    pub id: MessageId,
    pub conversation_id: ConversationId,
    pub seq: Seq,
    pub sender_id: UserId,
    pub client_id: String,
    pub kind: MessageKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Media>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded_from: Option<Forwarded>,
    pub created_at: Timestamp,
    pub status: MessageStatus,
}

/// Where a forwarded message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Forwarded {
    pub message_id: MessageId,
    pub sender_id: UserId,
}

/// How far a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MessageStatus {
    /// It is durable.
    Sent,
    /// Every other member has received it.
    Delivered,
    /// Every other member has read it.
    Read,
}

/// `GET /v1/conversations/{id}/messages`, oldest first whichever way was asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessagePage {
    pub messages: Vec<Message>,
    /// Whether there are messages before the first of the page.
    pub more_before: bool,
    /// Whether there are messages after the last of the page.
    pub more_after: bool,
}

/// `GET /v1/messages/{id}/receipts`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReceiptList {
    /// One for each member but the sender.
    pub receipts: Vec<Receipt>,
    pub delivered_to_all: bool,
    pub read_by_all: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Receipt {
    pub user_id: UserId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<Timestamp>,
}

/// One change in a conversation. `seq` is the one before plus one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogEntry {
    pub seq: Seq,
    pub at: Timestamp,
    #[serde(flatten)]
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Change {
    /// The conversation was made; always the first entry.
    Created { by: UserId, kind: ConversationKind, member_ids: Vec<UserId> },
    /// A message was sent. It also moves the sender's cursors to this entry.
    Message { message: Box<Message> },
    /// A kind of change that this version of the library does not know.
    #[serde(other)]
    Unknown,
}

/// `GET /v1/conversations/{id}/log?after=` and the `log` command of the socket: every change since, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogPage {
    pub conversation_id: ConversationId,
    pub entries: Vec<LogEntry>,
    /// The newest entry of the log when the page was read.
    pub head: Seq,
    /// Whether more follow the last of the page.
    pub more: bool,
    /// The entries cannot follow what the client has: it must drop what it knows of the conversation and load it anew.
    pub truncated: bool,
}
