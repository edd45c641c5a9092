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
    /// Finds the conversation with this user, or makes it.
    Direct { user_id: UserId },
    /// Makes a group. Who makes it is its owner.
    Group(NewConversation),
    /// Makes a channel: only owners and admins write.
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
    /// The first members, besides the one who makes it. Those who cannot be added are left out: the answer says who they
    /// are.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(schema_with = shape::first_members))]
    pub member_ids: Vec<UserId>,
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub permissions: Option<UpdatePermissions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryVisibility>,
    /// Chosen by the client: the same one again gives back the conversation that was made first. 1 to 64 printable ASCII
    /// characters.
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

/// What those may do who are neither owner nor admin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Permissions {
    /// Anybody who knows the conversation's id may join.
    pub anyone_may_join: bool,
    /// In a channel members never write.
    pub members_may_send: bool,
    /// Members may add others and make invite links.
    pub members_may_add_members: bool,
    /// Members may change name, description, image and timer, and pin messages.
    pub members_may_edit: bool,
}

/// What to change of the permissions; what is absent stays.
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

/// What a member sees of the time before they joined. It holds for those who join from now on.
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

/// A conversation as one of its members sees it: a row of the inbox shows it with no further request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Conversation {
    pub id: ConversationId,
    pub kind: ConversationKind,
    /// In a direct conversation the other person's name.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// In a direct conversation the other person's avatar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// In a direct conversation the other person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<User>,
    /// Not in direct conversations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    pub history: HistoryVisibility,
    pub edits_visible_to: EditsVisibleTo,
    /// Seconds after which messages disappear that are sent from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MessageTtl>))]
    pub message_ttl_secs: Option<u32>,
    pub member_count: u32,
    /// Whether it has so many members that they are not told of each other's cursors, typing and reactions; `@all` is for
    /// owners and admins there, and messages stay `SENT`.
    pub large: bool,
    pub pinned_message_ids: Vec<MessageId>,
    pub created_by: UserId,
    pub created_at: Timestamp,
    /// When its details last changed.
    pub updated_at: Timestamp,
    /// When something was last said or shown, or the conversation made.
    pub last_activity_at: Timestamp,
    /// The newest entry of the log. Who has seen less asks `…/log?after=`.
    pub head: Seq,
    /// The newest message that is shown, those of the server included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_message: Option<LastMessage>,
    /// Messages after the own read cursor, those included that were deleted for all since.
    pub unread: u64,
    /// Those of them that mention the user; 100 stands for 100 or more.
    pub unread_mentions: u32,
    /// The own membership.
    pub me: Membership,
    /// The cursors of all members, the own included, where one conversation is asked for; in large conversations the own
    /// only. Lists and `sync` leave them out. Those of who has blocked the user are not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cursors: Vec<MemberCursor>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LastMessage {
    pub id: MessageId,
    pub seq: Seq,
    pub sender_id: UserId,
    /// The display name of the sender as it is now; absent where the user does not exist any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_name: Option<String>,
    pub kind: MessageKind,
    /// What happened, in a message of kind `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The beginning of the text, on one line; empty where there is none, or no longer.
    pub preview: String,
    pub created_at: Timestamp,
    /// It was deleted, or has disappeared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    pub status: MessageStatus,
}

/// What a member has set for a conversation, and where they are in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Membership {
    pub role: Role,
    pub joined_at: Timestamp,
    /// How far the user has received and read: the own cursor.
    pub delivered: Seq,
    pub read: Seq,
    pub pinned: bool,
    /// The place among the pinned ones, the lowest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin_place: Option<i64>,
    /// New messages do not change it.
    pub archived: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub muted_until: Option<Timestamp>,
    /// The user wants to come back to it. Moving the read cursor takes it away, also to where it is; sending does not.
    pub marked_unread: bool,
    /// Before this entry the member sees nothing: they were not there, or have deleted it for themselves.
    pub history_from: Seq,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<SavedDraft>,
}

/// A text that was not sent yet, the same on all devices of the user.
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

/// `GET /v1/conversations`: pinned first in their order, then the latest activity first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConversationPage {
    pub conversations: Vec<Conversation>,
    /// Goes into `after` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Cursor>))]
    pub next: Option<String>,
}

/// `PATCH /v1/conversations/{id}` and the `update_conversation` command of the socket. What is absent stays; `null`
/// removes what can be removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateConversation {
    /// Needed on the socket; over HTTP the path says it.
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
}

/// A conversation, for commands of the socket that say nothing else: `join`, `leave`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OfConversation {
    pub conversation_id: ConversationId,
}

/// `PATCH /v1/conversations/{id}/me` and the `update_membership` command of the socket. What is absent stays.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateMembership {
    /// Needed on the socket; over HTTP the path says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// A newly pinned one comes first. What is pinned is not archived, and the other way round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// `null` ends the mute.
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

/// `PUT /v1/conversations/pinned` and the `order_pinned` command of the socket: all pinned conversations, the first one
/// first. Those that are not named keep their order after them; those that are not pinned are passed over.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OrderPinned {
    #[cfg_attr(feature = "openapi", schema(schema_with = shape::pinned_conversations))]
    pub conversation_ids: Vec<ConversationId>,
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
