//! Conversations and the inbox: `/v1/conversations`.

use serde::{Deserialize, Serialize};

use crate::accounts::present;
use crate::messages::{MessageKind, MessageStatus};
use crate::people::User;
use crate::{ConversationId, MessageId, Seq, Timestamp, UserId};

/// `POST /v1/conversations`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CreateConversation {
    /// Finds the conversation with this user, or makes it.
    Direct { user_id: UserId },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConversationKind {
    Direct,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Owner,
    Admin,
    Member,
}

/// A conversation as one of its members sees it: a row of the inbox shows it with no further request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Conversation {
    pub id: ConversationId,
    pub kind: ConversationKind,
    /// In a direct conversation the other person's name.
    pub name: String,
    /// In a direct conversation the other person's avatar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// In a direct conversation the other person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<User>,
    pub created_at: Timestamp,
    /// When the last message was sent, or the conversation made.
    pub last_activity_at: Timestamp,
    /// The newest entry of the log. Who has seen less asks `…/log?after=`.
    pub head: Seq,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_message: Option<LastMessage>,
    /// Messages after the own read cursor.
    pub unread: u64,
    /// The own membership.
    pub me: Membership,
    /// The cursors of all members, the own included.
    pub cursors: Vec<MemberCursor>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LastMessage {
    pub id: MessageId,
    pub seq: Seq,
    pub sender_id: UserId,
    pub kind: MessageKind,
    /// The beginning of the text, on one line; empty where there is none.
    pub preview: String,
    pub created_at: Timestamp,
    pub status: MessageStatus,
}

/// What a member has set for a conversation, and where they are in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Membership {
    pub role: Role,
    pub joined_at: Timestamp,
    pub pinned: bool,
    pub archived: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub muted_until: Option<Timestamp>,
}

/// How far a member has received and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberCursor {
    pub user_id: UserId,
    pub delivered: Seq,
    pub read: Seq,
}

/// `GET /v1/conversations`: pinned first, then the latest activity first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConversationPage {
    pub conversations: Vec<Conversation>,
    /// Goes into `after` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// `PATCH /v1/conversations/{id}/me`. What is absent stays.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateMembership {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// `null` ends the mute.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Timestamp>))]
    pub muted_until: Option<Option<Timestamp>>,
}

/// `PUT /v1/conversations/{id}/cursor`. Cursors only move forward; what is absent stays; what is read is delivered too.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MoveCursor {
    /// Needed on the socket; over HTTP the path says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<Seq>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Seq>,
}
