//! Requests that send, edit or delete a message.

use serde::{Deserialize, Serialize};

use super::{Media, MessageKind};
use crate::any_json;
use crate::conversations::DeleteFor;
use crate::object::optional;
#[cfg(feature = "openapi")]
use crate::shape;
use crate::{ConversationId, MessageId};

/// `POST /v1/conversations/{id}/messages`, and the `send` command of the socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// Required on the socket; over HTTP it is in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// Idempotency key, unique for the sender in the conversation: 1 to 64 printable ASCII characters. The same id
    /// returns the message that was sent first.
    #[cfg_attr(feature = "openapi", schema(value_type = shape::ClientId))]
    pub client_id: String,
    /// Required, except for a forward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MessageKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MessageText>))]
    pub text: Option<String>,
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub media: Option<Box<Media>>,
    /// The event, in a message of kind `system`: `app.` followed by words of `a-z 0-9 _` joined by dots, such as
    /// `app.call.ended`. Other names are reserved for the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::AppEvent>))]
    pub event: Option<String>,
    /// Data of the event, in a message of kind `system`: any JSON, at most 4,096 bytes in compact form,
    /// nested at most 8 levels deep. Numbers without a fraction must lie between -2^63 and 2^64, however they are written. `null`
    /// means no data.
    #[serde(default, deserialize_with = "any_json::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub data: Option<serde_json::Value>,
    /// A message in the same conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// The message to forward, which the sender must be able to see. The server copies its current kind, text and media,
    /// so that nobody can forge a forward. Leave these fields out; if you set them, they must match. Deleted and
    /// disappearing messages and messages of kind `system` cannot be forwarded. A forward of the sender's own message
    /// does not name its origin. A forward cannot be edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded_from: Option<MessageId>,
}

/// `PATCH /v1/messages/{id}` and the `edit` command of the socket: the new text, or the new caption.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EditMessage {
    /// Required on the socket; over HTTP it is in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    #[cfg_attr(feature = "openapi", schema(value_type = shape::MessageText))]
    pub text: String,
}

/// The `delete` command of the socket.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DeleteMessage {
    pub message_id: MessageId,
    pub r#for: DeleteFor,
}

/// The body of socket commands that only name a message: `unreact`, `pin`, `unpin`, `star`, `unstar`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OfMessage {
    pub message_id: MessageId,
}
