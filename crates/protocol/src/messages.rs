//! Messages, history and the log: `/v1/conversations/{id}/messages`, `…/log`, `/v1/messages/{id}`.

use serde::{Deserialize, Serialize};

use crate::any_json;
use crate::conversations::{
    ConversationKind, DeleteFor, EditsVisibleTo, HistoryVisibility, Permissions, Role,
};
use crate::object::optional;
#[cfg(feature = "openapi")]
use crate::shape;
use crate::{ConversationId, InviteId, MessageId, Position, Seq, Timestamp, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// `text`
    Text,
    /// `media`, and `text` as its caption if there is one
    Image,
    /// `media`, and `text` as its caption if there is one
    File,
    /// `media` with a duration
    Voice,
    /// `event`, and `text` if there is one: something that happened rather than something that was said
    System,
}

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
    /// `app.call.ended`. The server uses other names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::AppEvent>))]
    pub event: Option<String>,
    /// Data of the event, in a message of kind `system`: any JSON of at most 4,096 bytes without white space, nested at
    /// most 8 levels deep, with 64-bit numbers. `null` means none.
    #[serde(default, deserialize_with = "any_json::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub data: Option<serde_json::Value>,
    /// A message of the same conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// A message that the sender can see. The server copies its current kind, text and media, so that nobody can forge
    /// a forward: leave these fields out. If they are given, they must match. Deleted and disappearing messages and
    /// messages of kind `system` cannot be forwarded. A forward of the sender's own message does not name its origin. A
    /// forward cannot be edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded_from: Option<MessageId>,
}

/// A reference to an image, a file or a recording that is stored elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Media {
    #[cfg_attr(feature = "openapi", schema(value_type = shape::MediaUrl))]
    pub url: String,
    /// Such as `image/png`.
    #[cfg_attr(feature = "openapi", schema(value_type = shape::ContentType))]
    pub content_type: String,
    #[cfg_attr(feature = "openapi", schema(value_type = shape::MediaSize))]
    pub size_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MediaName>))]
    pub name: Option<String>,
    /// In pixels, only for images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MediaMeasure>))]
    pub width: Option<u32>,
    /// In pixels, only for images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MediaMeasure>))]
    pub height: Option<u32>,
    /// Only for recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MediaMeasure>))]
    pub duration_ms: Option<u32>,
}

/// A message in its current state. A message of kind `system` with a `notice` comes from the server and reports an
/// event in the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Message {
    pub id: MessageId,
    pub conversation_id: ConversationId,
    pub seq: Seq,
    pub sender_id: UserId,
    /// Absent in messages from the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::ClientId>))]
    pub client_id: Option<String>,
    pub kind: MessageKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MessageText>))]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Box<Media>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// What the event is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub data: Option<serde_json::Value>,
    /// In a message from the server, the event that it reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(no_recursion))]
    pub notice: Option<Box<Change>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// The message that this one replies to, in its current state; absent if the user cannot see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Box<Quote>>,
    /// In a reply, the message that started the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded_from: Option<Forwarded>,
    #[serde(default, skip_serializing_if = "Mentions::is_empty")]
    pub mentions: Mentions,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<Timestamp>,
    /// When the message was deleted or expired. It has no content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
    /// When the message expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reactions: Vec<ReactionCount>,
    /// The requesting user's own reaction. Events do not have it, because they are the same for everyone; `reacted`
    /// entries name the user, except in large conversations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub my_reaction: Option<String>,
    /// Number of replies in the thread that this message started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replies: u32,
    /// The lowest status that every other member has reached. Always `SENT` in large conversations; the receipts of a
    /// message list who has read it.
    pub status: MessageStatus,
}

/// What a reply shows of the message that it replies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Quote {
    pub message_id: MessageId,
    pub seq: Seq,
    pub sender_id: UserId,
    pub kind: MessageKind,
    /// The beginning of the text on one line; empty if there is no text, or no longer.
    pub preview: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// Users whom a message mentions with `@handle` or `@all`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Mentions {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_ids: Vec<UserId>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

impl Mentions {
    pub const fn is_empty(&self) -> bool {
        self.user_ids.is_empty() && !self.all
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReactionCount {
    pub reaction: String,
    pub count: u32,
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

/// A message, for the socket commands that need nothing else: `unreact`, `pin`, `unpin`, `star`, `unstar`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OfMessage {
    pub message_id: MessageId,
}

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

/// `GET /v1/messages/{id}/edits`: the versions of a message, the first one first, the current one last.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EditList {
    pub versions: Vec<Version>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Version {
    pub at: Timestamp,
    pub by: UserId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// `GET /v1/messages/{id}/thread`: the message that began it, and a page of replies, the oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ThreadPage {
    /// Absent if the user cannot see it: it is older than their membership, or they deleted it for themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Message>,
    pub replies: Vec<Message>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Cursor>))]
    pub next: Option<String>,
}

/// `GET /v1/conversations/{id}/pins`: the most recently pinned first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PinList {
    pub pins: Vec<Pin>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Pin {
    pub by: UserId,
    pub at: Timestamp,
    pub message: Message,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Where a forwarded message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Forwarded {
    pub message_id: MessageId,
    pub sender_id: UserId,
}

/// Delivery status of a message; always `SENT` in large conversations. The server never sends `UNSPECIFIED`, `SENDING`
/// and `ERROR`: clients use them for messages that are not sent yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MessageStatus {
    Unspecified = 0,
    Sending = 1,
    /// It is durable.
    Sent = 2,
    /// Every other member has received it.
    Delivered = 3,
    /// Every other member has read it.
    Read = 4,
    Error = 5,
}

/// The `history` command of the socket. Use at most one of `before`, `after`, `around` and `before_time`; without one
/// it returns the newest messages.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReadHistory {
    pub conversation_id: ConversationId,
    /// Messages before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Position>,
    /// Messages after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Position>,
    /// Messages around this one, including it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<Position>,
    /// Messages sent before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_time: Option<Timestamp>,
    /// Messages per page, 1 to 200; default 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::PageLimit>))]
    pub limit: Option<u16>,
}

impl ReadHistory {
    /// The newest messages.
    pub const fn newest(conversation_id: ConversationId) -> Self {
        Self { conversation_id, before: None, after: None, around: None, before_time: None, limit: None }
    }
}

/// `GET /v1/conversations/{id}/messages` and the `history` command, always oldest first. A page may have fewer messages
/// than requested and still be followed by more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessagePage {
    pub messages: Vec<Message>,
    /// Whether there are messages before the first of the page.
    pub more_before: bool,
    /// Whether there are messages after the last of the page.
    pub more_after: bool,
}

/// `GET /v1/messages/{id}/receipts`, in pages. `…_to_all` and `…_by_all` refer to all members, also those on other pages.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReceiptList {
    /// One for each member except the sender.
    pub receipts: Vec<Receipt>,
    /// Absent in large conversations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_to_all: Option<bool>,
    /// Absent in large conversations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_by_all: Option<bool>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Cursor>))]
    pub next: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Receipt {
    pub user_id: UserId,
    /// `SENT`, `DELIVERED` or `READ`.
    pub status: MessageStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<Timestamp>,
}

/// One change in a conversation. `seq` is that of the previous entry plus one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogEntry {
    pub seq: Seq,
    pub at: Timestamp,
    #[serde(flatten)]
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Change {
    /// The conversation was created; always the first entry.
    Created {
        by: UserId,
        kind: ConversationKind,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        member_ids: Vec<UserId>,
    },
    /// A message was sent; shown in its current state. It also moves the sender's cursors to this entry.
    Message {
        #[cfg_attr(feature = "openapi", schema(no_recursion))]
        message: Box<Message>,
    },
    /// A message was edited. The text is absent if the message was later deleted or edited again.
    Edited {
        by: UserId,
        message_id: MessageId,
        message_seq: Seq,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(default, skip_serializing_if = "Mentions::is_empty")]
        mentions: Mentions,
    },
    /// A message was deleted for everyone.
    Deleted {
        by: UserId,
        message_id: MessageId,
        message_seq: Seq,
    },
    /// These messages have expired.
    Expired {
        message_ids: Vec<MessageId>,
    },
    /// Reactions to a message changed.
    Reacted {
        message_id: MessageId,
        message_seq: Seq,
        /// The user who reacted; absent in large conversations.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<ReactionChange>,
        /// The current count of each reaction.
        reactions: Vec<ReactionCount>,
    },
    /// A member added others.
    MembersAdded {
        by: UserId,
        user_ids: Vec<UserId>,
    },
    /// A user joined.
    MemberJoined {
        user_id: UserId,
    },
    MemberLeft {
        user_id: UserId,
    },
    MemberRemoved {
        by: UserId,
        user_id: UserId,
    },
    /// A user was banned: they cannot join or be added. If they were a member, this removes them.
    MemberBanned {
        by: UserId,
        user_id: UserId,
        was_member: bool,
    },
    /// A ban was lifted: the user can join and be added again.
    MemberUnbanned {
        by: UserId,
        user_id: UserId,
    },
    RoleChanged {
        by: UserId,
        user_id: UserId,
        role: Role,
    },
    /// Ownership was transferred: the member is now an owner, and the previous owner an admin.
    OwnershipTransferred {
        by: UserId,
        user_id: UserId,
    },
    /// The name, description, image, permissions or settings changed. Absent fields did not change.
    DetailsChanged {
        by: UserId,
        #[serde(flatten)]
        details: Box<ChangedDetails>,
    },
    Pinned {
        by: UserId,
        message_id: MessageId,
        message_seq: Seq,
    },
    Unpinned {
        by: UserId,
        message_id: MessageId,
        message_seq: Seq,
    },
    /// An invite link was created.
    InviteCreated {
        by: UserId,
        invite_id: InviteId,
    },
    InviteRevoked {
        by: UserId,
        invite_id: InviteId,
    },
    /// The conversation was deleted for everyone; always the last entry.
    ConversationDeleted {
        by: UserId,
    },
    /// An entry about a message that this user cannot see, because it is older than their membership or they deleted it
    /// for themselves. The entry keeps its `seq` and shows nothing else.
    Withheld,
    /// A kind of change that this version of the library does not know.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReactionChange {
    pub user_id: UserId,
    /// Absent if the reaction was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reaction: Option<String>,
}

/// An empty text, or zero seconds, means none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangedDetails {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryVisibility>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits_visible_to: Option<EditsVisibleTo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_ttl_secs: Option<u32>,
}

/// `GET /v1/conversations/{id}/log?after=` and the `log` command of the socket: every change since, in order. A page may have
/// fewer entries than asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogPage {
    pub conversation_id: ConversationId,
    pub entries: Vec<LogEntry>,
    /// Where the log begins for this user, who sees nothing before it. A client with fewer entries continues from
    /// there.
    pub begins: Seq,
    /// The newest entry of the log when the page was read.
    pub head: Seq,
    /// Whether more entries follow the last one of the page.
    pub more: bool,
    /// The entries do not continue the client's log: it must drop the conversation and load it again.
    pub truncated: bool,
}
