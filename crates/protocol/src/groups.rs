//! Members, bans and invite links of groups and channels: `/v1/conversations/{id}/members`, `…/bans`, `…/invites`,
//! `/v1/invites`.

use serde::{Deserialize, Serialize};

use crate::conversations::{ConversationKind, MemberCursor, Role};
use crate::error::ErrorCode;
use crate::people::User;
#[cfg(feature = "openapi")]
use crate::shape;
use crate::{ConversationId, InviteId, Timestamp, UserId};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Member {
    #[serde(flatten)]
    pub user: User,
    pub role: Role,
    pub joined_at: Timestamp,
    /// Absent in large conversations, and for members who have blocked the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<MemberCursor>,
}

/// `GET /v1/conversations/{id}/members`. A page may have fewer items than requested, or none, and still be followed by
/// another. It is the last page if `next` is absent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberPage {
    pub members: Vec<Member>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Cursor>))]
    pub next: Option<String>,
}

/// `POST /v1/conversations/{id}/members` and the `add_members` command of the socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AddMembers {
    /// Required on the socket; over HTTP it is in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// 1 to 1,000 users.
    #[cfg_attr(feature = "openapi", schema(schema_with = shape::added_members))]
    pub user_ids: Vec<UserId>,
}

/// The result for each user, in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AddedMembers {
    pub results: Vec<AddedMember>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AddedMember {
    pub user_id: UserId,
    pub added: bool,
    /// Why the user was not added: `not_found`, `blocked`, `banned`, `already_member`, `too_many_members`,
    /// `too_many_conversations`, or `needs_invite` if the user does not allow it: send them a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorCode>,
}

/// `PATCH /v1/conversations/{id}/members/{user_id}` and the `set_role` command of the socket.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SetRole {
    /// Required on the socket; over HTTP it is in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// Required on the socket; over HTTP it is in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    pub role: Role,
}

/// A user and a conversation: `PUT /v1/conversations/{id}/owner` names one, and so do the commands `remove_member`, `ban`,
/// `unban` and `transfer_ownership` of the socket.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OfMember {
    /// Required on the socket; over HTTP it is in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    pub user_id: UserId,
}

/// A user who cannot join or be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Ban {
    #[serde(flatten)]
    pub user: User,
    pub banned_by: UserId,
    pub banned_at: Timestamp,
}

/// `GET /v1/conversations/{id}/bans`, in the order of the users' ids.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BanPage {
    pub bans: Vec<Ban>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The `leave` command of the socket; over HTTP `POST /v1/conversations/{id}/leave`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Leave {
    pub conversation_id: ConversationId,
    /// Leave for good: this blocks the person who added the user, and nobody can add the user to this conversation
    /// again. The user can still join on their own, which undoes it.
    #[serde(default)]
    pub block: bool,
}

/// `GET /v1/refused-groups`: conversations that the user has left for good, oldest first, at most 100.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RefusedGroups {
    pub conversation_ids: Vec<ConversationId>,
}

/// `POST /v1/conversations/{id}/invites` and the `create_invite` command of the socket.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateInvite {
    /// Required on the socket; over HTTP it is in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// Idempotency key, 1 to 64 printable ASCII characters: the same one returns the user's existing link. Without one,
    /// every request creates another link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::ClientId>))]
    pub client_id: Option<String>,
    /// When the link expires; never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::FutureTime>))]
    pub expires_at: Option<Timestamp>,
    /// How often the link can be used; unlimited if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::InviteUses>))]
    pub uses_max: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Invite {
    pub id: InviteId,
    pub conversation_id: ConversationId,
    /// Anyone with the token can join: `POST /v1/invites/{token}/join`.
    #[cfg_attr(feature = "openapi", schema(value_type = shape::InviteToken))]
    pub token: String,
    pub created_by: UserId,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::InviteUses>))]
    pub uses_max: Option<u32>,
    pub uses: u32,
    /// Whether the link works now. It works only while its creator may invite others, and is deleted when the creator
    /// leaves.
    pub works: bool,
}

/// `GET /v1/conversations/{id}/invites`: links that are neither expired, revoked nor used up. Owners and admins see all
/// links, members their own.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InviteList {
    pub invites: Vec<Invite>,
}

/// The `revoke_invite` command of the socket.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RevokeInvite {
    pub conversation_id: ConversationId,
    pub invite_id: InviteId,
}

/// The `join_by_invite` command of the socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JoinByInvite {
    #[cfg_attr(feature = "openapi", schema(value_type = shape::InviteToken))]
    pub token: String,
}

/// `GET /v1/invites/{token}`: the conversation of a link, as users see it before they join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InvitePreview {
    pub conversation_id: ConversationId,
    pub kind: ConversationKind,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    pub member_count: u32,
    /// Whether the requesting user is already a member.
    pub member: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}
