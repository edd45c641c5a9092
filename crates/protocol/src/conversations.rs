//! Conversations and the inbox: `/v1/conversations`.

use serde::{Deserialize, Serialize};

use crate::accounts::present;
use crate::groups::AddedMember;
use crate::messages::{MessageKind, MessageStatus};
use crate::object::{optional, present_object};
use crate::people::User;
#[cfg(feature = "openapi")]
use crate::shape;
use crate::{ConversationId, MessageId, Seq, Timestamp, UserId};

/// `POST /v1/conversations`, and the `open_conversation` command of the socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CreateConversation {
    /// Finds or creates the conversation with this user.
    Direct { user_id: UserId },
    /// Creates a group. Its creator becomes the owner.
    Group(NewConversation),
    /// Creates a channel: only owners and admins can send messages.
    Channel(NewConversation),
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewConversation {
    #[cfg_attr(feature = "openapi", schema(value_type = shape::ConversationName))]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Description>))]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::ImageUrl>))]
    pub image: Option<String>,
    /// The first members besides the creator. Users who cannot be added are left out; the answer names them.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(schema_with = shape::first_members))]
    pub member_ids: Vec<UserId>,
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub permissions: Option<UpdatePermissions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryVisibility>,
    /// Idempotency key, 1 to 64 printable ASCII characters: the same one returns the conversation that was created
    /// first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::ClientId>))]
    pub client_id: Option<String>,
}

/// The answer to `POST /v1/conversations`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatedConversation {
    #[serde(flatten)]
    pub conversation: Conversation,
    /// Users who could not be added, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<AddedMember>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConversationKind {
    /// Two people.
    Direct,
    /// Members talk to each other.
    Group,
    /// Owners and admins write, any number of members read.
    Channel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Owner,
    Admin,
    Member,
}

/// Permissions of members who are neither owners nor admins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Permissions {
    /// Anyone who knows the conversation's id may join.
    pub anyone_may_join: bool,
    /// Members may send messages; in a channel they never can.
    pub members_may_send: bool,
    /// Members may add others and create invite links.
    pub members_may_add_members: bool,
    /// Members may change name, description, image and timer, and pin messages.
    pub members_may_edit: bool,
}

/// The permissions to change; absent fields stay unchanged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdatePermissions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anyone_may_join: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members_may_send: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members_may_add_members: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members_may_edit: Option<bool>,
}

/// Whether new members see messages from before they joined. A change applies only to members who join later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum HistoryVisibility {
    All,
    FromJoining,
}

/// Who can read the earlier versions of an edited message; its author always can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EditsVisibleTo {
    Members,
    Admins,
}

/// A conversation as one of its members sees it, with all data for its row in the inbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Conversation {
    pub id: ConversationId,
    pub kind: ConversationKind,
    /// In a direct conversation, the other person's name.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// In a direct conversation, the other person's avatar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// In a direct conversation, the other person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<User>,
    /// Absent in direct conversations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    pub history: HistoryVisibility,
    pub edits_visible_to: EditsVisibleTo,
    /// Seconds after which new messages expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MessageTtl>))]
    pub message_ttl_secs: Option<u32>,
    pub member_count: u32,
    /// Whether the conversation is large. Its members receive no events about each other's cursors, typing and
    /// reactions, only owners and admins can use `@all`, and messages stay `SENT`.
    pub large: bool,
    pub pinned_message_ids: Vec<MessageId>,
    pub created_by: UserId,
    pub created_at: Timestamp,
    /// When the details last changed.
    pub updated_at: Timestamp,
    /// When the latest message or notice appeared, or the conversation was created.
    pub last_activity_at: Timestamp,
    /// The `seq` of the newest log entry. A client with fewer entries reads the rest from `…/log?after=`.
    pub head: Seq,
    /// The newest visible message, including notices of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_message: Option<LastMessage>,
    /// Messages after the user's read cursor, including those deleted for everyone since.
    pub unread: u64,
    /// The number of unread messages that mention the user; 100 means 100 or more.
    pub unread_mentions: u32,
    /// The user's own membership.
    pub me: Membership,
    /// The cursors of all members, including the user's own, when a single conversation is requested; in large
    /// conversations only the user's own. Lists and `sync` leave them out. Cursors of members who have blocked the user
    /// are not included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cursors: Vec<MemberCursor>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LastMessage {
    pub id: MessageId,
    pub seq: Seq,
    pub sender_id: UserId,
    /// The sender's current display name; absent if the user no longer exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_name: Option<String>,
    pub kind: MessageKind,
    /// The name of the event, in a message of kind `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The beginning of the text on one line; empty if the message has no text or was deleted.
    pub preview: String,
    pub created_at: Timestamp,
    /// The message was deleted or has expired.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    pub status: MessageStatus,
}

/// A member's settings for a conversation, and their cursor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Membership {
    pub role: Role,
    pub joined_at: Timestamp,
    /// The user's own cursor: how far they have received and read.
    pub delivered: Seq,
    pub read: Seq,
    pub pinned: bool,
    /// The position among the pinned conversations, lowest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin_place: Option<i64>,
    /// New messages do not unarchive the conversation.
    pub archived: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub muted_until: Option<Timestamp>,
    /// The user marked the conversation as unread. Any move of the read cursor removes the mark, even to its current
    /// position; sending does not.
    pub marked_unread: bool,
    /// The first entry that the member can see. Earlier entries are from before they joined, or they deleted them for
    /// themselves.
    pub history_from: Seq,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<SavedDraft>,
}

/// An unsent text, synchronised between the user's devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SavedDraft {
    #[cfg_attr(feature = "openapi", schema(value_type = shape::DraftText))]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    pub updated_at: Timestamp,
}

/// How far a member has received and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberCursor {
    pub user_id: UserId,
    pub delivered: Seq,
    pub read: Seq,
}

/// `GET /v1/conversations`: pinned conversations in their order, then the others by latest activity.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConversationPage {
    pub conversations: Vec<Conversation>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Cursor>))]
    pub next: Option<String>,
}

/// `PATCH /v1/conversations/{id}` and the `update_conversation` command of the socket. Absent fields stay unchanged;
/// `null` removes a value that can be removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateConversation {
    /// Required on the socket; over HTTP it is in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::ConversationName>))]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Description>))]
    pub description: Option<Option<String>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::ImageUrl>))]
    pub image: Option<Option<String>>,
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub permissions: Option<UpdatePermissions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryVisibility>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits_visible_to: Option<EditsVisibleTo>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MessageTtl>))]
    pub message_ttl_secs: Option<Option<u32>>,
}

/// `DELETE /v1/conversations/{id}?for=` and `DELETE /v1/messages/{id}?for=`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeleteFor {
    Me,
    All,
}

/// The `delete_conversation` command of the socket.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DeleteConversation {
    pub conversation_id: ConversationId,
    pub r#for: DeleteFor,
    /// With `me`: the newest entry that the client knows. Later entries stay, so the command can be repeated. Without it,
    /// everything is hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Seq>,
}

/// The body of socket commands that only name a conversation, such as `join`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OfConversation {
    pub conversation_id: ConversationId,
}

/// `PATCH /v1/conversations/{id}/me` and the `update_membership` command of the socket. Absent fields stay unchanged.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateMembership {
    /// Required on the socket; over HTTP it is in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// A newly pinned conversation comes first. Pinning unarchives a conversation, and archiving unpins it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// `null` unmutes.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::FutureTime>))]
    pub muted_until: Option<Option<Timestamp>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked_unread: Option<bool>,
    /// `null` removes the draft.
    #[serde(default, deserialize_with = "present_object", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NewDraft>))]
    pub draft: Option<Option<NewDraft>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewDraft {
    #[cfg_attr(feature = "openapi", schema(value_type = shape::DraftText))]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
}

/// `PUT /v1/conversations/pinned` and the `order_pinned` command of the socket: all pinned conversations in their new
/// order. Pinned conversations that are not named follow in their old order; conversations that are not pinned are
/// ignored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OrderPinned {
    #[cfg_attr(feature = "openapi", schema(schema_with = shape::pinned_conversations))]
    pub conversation_ids: Vec<ConversationId>,
}

/// `PUT /v1/conversations/{id}/cursor`. Cursors only move forward. Absent fields stay unchanged. `read` implies
/// `delivered`.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MoveCursor {
    /// Required on the socket; over HTTP it is in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<Seq>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Seq>,
}
