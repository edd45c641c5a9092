//! What is between a user and the server: starred and scheduled messages. `/v1/stars`, `/v1/scheduled`.

use serde::{Deserialize, Serialize};

use crate::error::ErrorCode;
use crate::messages::{Message, SendMessage};
use crate::object::Object;
#[cfg(feature = "openapi")]
use crate::shape;
use crate::{ConversationId, ScheduledId, Timestamp};

/// `GET /v1/stars`: the latest starred first. A page can have fewer than asked for and still be followed by another.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StarPage {
    pub messages: Vec<Message>,
    /// Goes into `after` for the next page; absent on the last.
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
    /// Its client id is that of the message that it becomes, so that scheduling it again, or sending it, is the same message.
    /// A forward is copied when it is sent.
    #[serde(deserialize_with = "object")]
    pub message: SendMessage,
}

/// What came of scheduling a message: one of the two.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scheduling {
    /// What is to be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<Scheduled>,
    /// The message with this client id, which has been sent already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Box<Message>>,
}

/// `PATCH /v1/scheduled/{id}` and the `update_scheduled` command of the socket. What is absent stays.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateScheduled {
    /// Needed on the socket; over HTTP the path says it.
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
    /// Why it was not sent when its time came. It stays until it is changed or cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<ErrorCode>,
}

/// `GET /v1/scheduled`: the next one first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScheduledList {
    pub scheduled: Vec<Scheduled>,
    /// Goes into `after` for the next page; absent on the last.
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
