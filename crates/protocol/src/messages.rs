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
    /// Needed on the socket; over HTTP the path says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// Chosen by the client, unique for the sender in the conversation: 1 to 64 printable ASCII characters. Sending the
    /// same id again gives back the message that was sent first.
    #[cfg_attr(feature = "openapi", schema(value_type = shape::ClientId))]
    pub client_id: String,
    /// Needed, but for a forward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MessageKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MessageText>))]
    pub text: Option<String>,
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub media: Option<Box<Media>>,
    /// What happened, in a message of kind `system`: `app.` and then words of `a-z 0-9 _` joined by dots, such as
    /// `app.call.ended`. Other names are the server's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::AppEvent>))]
    pub event: Option<String>,
    /// What the event is about, in a message of kind `system`: any JSON of at most 4,096 bytes when it is written without
    /// spaces, nested at most 8 deep, with numbers of 64 bits. `null` is the same as nothing.
    #[serde(default, deserialize_with = "any_json::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub data: Option<serde_json::Value>,
    /// A message of the same conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// A message that the sender can see. The server copies its kind, text and media as they are when it is sent, so that
    /// nobody can put words into another's mouth: leave them out. Where they are given they must be the same.
    /// Messages that were deleted, that disappear, and those of kind `system` are not forwarded. A message that the sender
    /// wrote is copied without naming its origin. A forward cannot be edited.
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
    /// Pixels, for images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MediaMeasure>))]
    pub width: Option<u32>,
    /// Pixels, for images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MediaMeasure>))]
    pub height: Option<u32>,
    /// For recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::MediaMeasure>))]
    pub duration_ms: Option<u32>,
}

/// A message as it is now. In a message of the server, kind `system` with a `notice`, something happened in the
/// conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Message {
    pub id: MessageId,
    pub conversation_id: ConversationId,
    pub seq: Seq,
    pub sender_id: UserId,
    /// Absent in messages of the server.
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
    /// In a message of the server, what happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(no_recursion))]
    pub notice: Option<Box<Change>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// What is shown of the message that is replied to, as it is now; absent where the user cannot see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Box<Quote>>,
    /// The message that began the thread, in a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded_from: Option<Forwarded>,
    #[serde(default, skip_serializing_if = "Mentions::is_empty")]
    pub mentions: Mentions,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<Timestamp>,
    /// It was deleted, or has disappeared: there is no content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
    /// When it disappears.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reactions: Vec<ReactionCount>,
    /// The own reaction of the user who asks. Events do not have it: they are the same for all; but `reacted` entries say who
    /// reacted, unless the conversation is large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub my_reaction: Option<String>,
    /// Replies in the thread that this message began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replies: u32,
    /// The least that all other members have reached. Always `SENT` in large conversations, where nobody looks at all of
    /// them: the receipts of a message say who has read it.
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
    /// The beginning of the text, on one line; empty where there is none, or no longer.
    pub preview: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// Whom a message calls by `@handle` or `@all`.
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
    /// Needed on the socket; over HTTP the path says it.
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

/// A message, for commands of the socket that say nothing else: `unreact`, `pin`, `unpin`, `star`, `unstar`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OfMessage {
    pub message_id: MessageId,
}

/// `PUT /v1/messages/{id}/reaction` and the `react` command of the socket. It takes the place of an earlier one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct React {
    /// Needed on the socket; over HTTP the path says it.
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
    /// Goes into `after` for the next page; absent on the last.
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
    /// Goes into `after` for the next page; absent on the last.
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
    /// Absent where the user cannot see it: it is from before they came, or they deleted it for themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Message>,
    pub replies: Vec<Message>,
    /// Goes into `after` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Cursor>))]
    pub next: Option<String>,
}

/// `GET /v1/conversations/{id}/pins`: the latest pinned first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PinList {
    pub pins: Vec<Pin>,
    /// Goes into `after` for the next page; absent on the last.
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

/// How far a message has come; in large conversations that is not followed. `UNSPECIFIED`, `SENDING` and `ERROR` never come from the server: clients keep them for
/// messages that are on their way.
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

/// The `history` command of the socket. At most one of `before`, `after`, `around` and `before_time`; without one the newest
/// messages.
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
    /// Messages around this one, itself included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<Position>,
    /// Messages sent before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_time: Option<Timestamp>,
    /// Messages on the page, 1 to 200; 50 when absent.
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

/// `GET /v1/conversations/{id}/messages` and the `history` command, oldest first whichever way was asked. A page may have
/// fewer messages than asked for and still be followed by more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessagePage {
    pub messages: Vec<Message>,
    /// Whether there are messages before the first of the page.
    pub more_before: bool,
    /// Whether there are messages after the last of the page.
    pub more_after: bool,
}

/// `GET /v1/messages/{id}/receipts`. `…_to_all` and `…_by_all` are about the members of the page; in large
/// conversations there are several pages.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReceiptList {
    /// One for each member but the sender.
    pub receipts: Vec<Receipt>,
    /// Absent in large conversations, where nobody looks at all members at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_to_all: Option<bool>,
    /// Absent in large conversations, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_by_all: Option<bool>,
    /// Goes into `after` for the next page; absent on the last.
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

/// One change in a conversation. `seq` is the one before plus one.
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
    /// The conversation was made; always the first entry.
    Created {
        by: UserId,
        kind: ConversationKind,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        member_ids: Vec<UserId>,
    },
    /// A message was sent; here it is as it is now. It also moves the sender's cursors to this entry.
    Message {
        #[cfg_attr(feature = "openapi", schema(no_recursion))]
        message: Box<Message>,
    },
    /// A message has a new text; none when it was deleted or edited again meanwhile.
    Edited {
        by: UserId,
        message_id: MessageId,
        message_seq: Seq,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(default, skip_serializing_if = "Mentions::is_empty")]
        mentions: Mentions,
    },
    /// A message was deleted for all.
    Deleted {
        by: UserId,
        message_id: MessageId,
        message_seq: Seq,
    },
    /// The time of these messages is over.
    Expired {
        message_ids: Vec<MessageId>,
    },
    /// Reactions to a message changed.
    Reacted {
        message_id: MessageId,
        message_seq: Seq,
        /// Whose; in large conversations it is not said.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<ReactionChange>,
        /// How many there are now of each.
        reactions: Vec<ReactionCount>,
    },
    /// Somebody made others members.
    MembersAdded {
        by: UserId,
        user_ids: Vec<UserId>,
    },
    /// Somebody became a member by themselves.
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
    /// Somebody cannot join or be added from now on. Who was a member is removed with it.
    MemberBanned {
        by: UserId,
        user_id: UserId,
        was_member: bool,
    },
    /// They can join and be added again.
    MemberUnbanned {
        by: UserId,
        user_id: UserId,
    },
    RoleChanged {
        by: UserId,
        user_id: UserId,
        role: Role,
    },
    /// The one who did it is an admin now, the other one an owner.
    OwnershipTransferred {
        by: UserId,
        user_id: UserId,
    },
    /// Name, description, image, permissions or settings; what is absent did not change.
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
    /// An invite link was made.
    InviteCreated {
        by: UserId,
        invite_id: InviteId,
    },
    InviteRevoked {
        by: UserId,
        invite_id: InviteId,
    },
    /// The conversation was deleted for all; always the last entry.
    ConversationDeleted {
        by: UserId,
    },
    /// Something about a message that this user cannot see: it is from before they came, or they deleted it for themselves.
    /// The entry has its place and nothing else.
    Withheld,
    /// A kind of change that this version of the library does not know.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReactionChange {
    pub user_id: UserId,
    /// Absent where it was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reaction: Option<String>,
}

/// An empty text, or zero seconds, stands for nothing.
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
    /// Where the log begins for this user: they see nothing before it. A client that has less goes on from there.
    pub begins: Seq,
    /// The newest entry of the log when the page was read.
    pub head: Seq,
    /// Whether more follow the last of the page.
    pub more: bool,
    /// The entries cannot follow what the client has: it must drop what it knows of the conversation and load it anew.
    pub truncated: bool,
}
