//! Other people: `/v1/users`, `/v1/blocks`.

use serde::{Deserialize, Serialize};

#[cfg(feature = "openapi")]
use crate::shape;
use crate::{Timestamp, UserId};

/// A user, as other users see them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct User {
    pub id: UserId,
    #[cfg_attr(feature = "openapi", schema(value_type = shape::Handle))]
    pub handle: String,
    #[cfg_attr(feature = "openapi", schema(value_type = shape::DisplayName))]
    pub display_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::AvatarUrl>))]
    pub avatar: Option<String>,
}

/// `GET /v1/users/{id}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UserDetails {
    #[serde(flatten)]
    pub user: User,
    /// Absent if the user hides their presence, or if one of the two users has blocked the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
    /// Whether the requesting user has blocked this user.
    pub blocked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Presence {
    pub online: bool,
    /// When the user's last device went offline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<Timestamp>,
}

/// `GET /v1/users` and `GET /v1/blocks`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UserPage {
    pub users: Vec<User>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Cursor>))]
    pub next: Option<String>,
}
