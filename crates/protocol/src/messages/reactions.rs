//! Reactions to a message.

use serde::{Deserialize, Serialize};

#[cfg(feature = "openapi")]
use crate::shape;
use crate::{MessageId, Timestamp, UserId};

/// `PUT /v1/messages/{id}/reaction` and the `react` command of the socket. Replaces the user's earlier reaction.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct React {
    /// Required on the socket; over HTTP it is in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// An emoji, or a short word.
    #[cfg_attr(feature = "openapi", schema(value_type = shape::ReactionText))]
    pub reaction: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReactionCount {
    pub reaction: String,
    pub count: u32,
}

/// `GET /v1/messages/{id}/reactions`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReactionPage {
    pub reactions: Vec<Reaction>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Cursor>))]
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reaction {
    pub user_id: UserId,
    pub reaction: String,
    pub at: Timestamp,
}
