//! Starred and scheduled messages, which only the user themselves sees: `/v1/stars`, `/v1/scheduled`.

use serde::{Deserialize, Serialize};

use crate::error::ErrorCode;
use crate::messages::{Message, SendMessage};
use crate::object::Object;
#[cfg(feature = "openapi")]
use crate::shape;
use crate::{ConversationId, ScheduledId, Timestamp};

/// `GET /v1/stars`: the most recently starred first. A page may have fewer items than requested and still be followed
/// by another.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StarPage {
    pub messages: Vec<Message>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Cursor>))]
    pub next: Option<String>,
}

/// `POST /v1/scheduled` and the `schedule` command of the socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ScheduleMessage {
    pub conversation_id: ConversationId,
    #[cfg_attr(feature = "openapi", schema(value_type = shape::SendTime))]
    pub send_at: Timestamp,
    /// The sent message keeps the client id, so scheduling or sending it again does not create another message. The
    /// content of a forward is copied at send time.
    #[serde(deserialize_with = "object")]
    pub message: SendMessage,
}

/// The result of scheduling a message. Exactly one of the two fields is present.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scheduling {
    /// The scheduled message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<Scheduled>,
    /// The message with this client id, if it was already sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Box<Message>>,
}

/// `PATCH /v1/scheduled/{id}` and the `update_scheduled` command of the socket. Absent fields stay unchanged.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateScheduled {
    /// Required on the socket; over HTTP it is in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_id: Option<ScheduledId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::SendTime>))]
    pub send_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MessageText>))]
    pub text: Option<String>,
}

/// The `send_scheduled` and `cancel_scheduled` commands of the socket.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OfScheduled {
    pub scheduled_id: ScheduledId,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scheduled {
    pub id: ScheduledId,
    pub conversation_id: ConversationId,
    pub send_at: Timestamp,
    pub message: SendMessage,
    /// Why the message could not be sent when it was due. It stays scheduled until the user changes or cancels it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<ErrorCode>,
}

/// `GET /v1/scheduled`: the next message first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScheduledList {
    pub scheduled: Vec<Scheduled>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

fn object<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Object::deserialize(deserializer).map(|Object(value)| value)
}
