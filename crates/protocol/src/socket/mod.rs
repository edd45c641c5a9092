//! The WebSocket at `/v1/ws`: commands, replies, events and close codes.
//!
//! A client sends `{"id": 7, "send": {…}}` and gets `{"id": 7, "ok": {…}}` or `{"id": 7, "error": {…}}`. A frame
//! without `id` is an event, such as `{"entry": {…}}`. Every frame is one JSON text frame.
//!
//! The lists [`socket_commands`](crate::socket_commands) and [`socket_events`](crate::socket_events) generate everything else:
//! the enums here, the dispatch of the server and the AsyncAPI document.

mod close;
mod commands;
mod events;

use serde::{Deserialize, Serialize};

pub use close::CloseCode;
pub use commands::{Command, CommandFrame, CommandKind, bodies};
pub use events::{
    CatchUp, CursorEvent, EntryEvent, EntryFrame, EntryOmitted, Event, Hello, HelloLimits, PresenceEvent,
    PresenceList, Reconnect, TypingEvent,
};

use crate::accounts::Device;
use crate::error::Problem;
#[cfg(feature = "openapi")]
use crate::shape;
use crate::{ConversationId, Seq, Timestamp, UserId};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SignInSocket {
    pub access_token: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignedInSocket {
    pub user_id: UserId,
    pub device: Device,
    /// The server closes the socket at this time unless the client signs in again with a new token.
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Typing {
    pub conversation_id: ConversationId,
    pub typing: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReadLog {
    pub conversation_id: ConversationId,
    pub after: Seq,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::PageLimit>))]
    pub limit: Option<u16>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Sync {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Cursor>))]
    pub since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::PageLimit>))]
    pub limit: Option<u16>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct WatchPresence {
    #[cfg_attr(feature = "openapi", schema(schema_with = shape::watched_users))]
    pub user_ids: Vec<UserId>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Empty {}

/// The reply to a command that succeeded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OkFrame<T> {
    pub id: u64,
    pub ok: T,
}

/// The reply to a command that failed. `id` is absent if the server could not read it from the frame.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorFrame {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    pub error: Problem,
}
