//! The log of a conversation.

use serde::{Deserialize, Serialize};

use super::{Mentions, Message, ReactionCount};
use crate::conversations::{ConversationKind, EditsVisibleTo, HistoryVisibility, Permissions, Role};
use crate::{ConversationId, InviteId, MessageId, Seq, Timestamp, UserId};

/// `GET /v1/conversations/{id}/log?after=` and the `log` command of the socket: every change after an entry, in order. A
/// page may have fewer entries than requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogPage {
    pub conversation_id: ConversationId,
    pub entries: Vec<LogEntry>,
    /// The first entry that this user can see. A client that is still before this entry continues from here.
    pub begins: Seq,
    /// The `seq` of the newest entry of the log when the page was read.
    pub head: Seq,
    /// Whether more entries follow the last one of the page.
    pub more: bool,
    /// The entries do not continue the client's log: it must drop the conversation and load it again.
    pub truncated: bool,
}

/// One change in a conversation. `seq` is the `seq` of the previous entry plus one.
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
    /// A message was sent; the entry shows its current state. It also moves the sender's cursors to this entry.
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
        /// The users whose reactions changed, with the reactions that they have now; absent in large conversations.
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
    /// An entry about a message that this user cannot see, because the message is older than their membership or they
    /// deleted it for themselves. Only `seq` and `at` are shown.
    Withheld,
    /// A kind of change that this version of the library does not know.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReactionChange {
    pub user_id: UserId,
    /// Absent if the user has no reaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reaction: Option<String>,
}

/// The new values. An empty text or zero seconds means that the value was removed.
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
