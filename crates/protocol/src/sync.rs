//! What changed anywhere: `GET /v1/sync`.

use serde::{Deserialize, Serialize};

use crate::conversations::{Conversation, MemberCursor, Membership};
#[cfg(feature = "openapi")]
use crate::shape;
use crate::{ConversationId, DeviceId, MessageId, ScheduledId, Seq, Timestamp, UserId};

/// `GET /v1/sync?since=` and the `sync` command of the socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SyncPage {
    /// Conversations in which anything changed since the token (an entry of the log, whatever it says, or a member's
    /// cursor), as they are now; the latest change first. A client compares `head` with what it has: a conversation can be
    /// listed although nothing is new to it.
    pub conversations: Vec<Conversation>,
    /// Cursors that moved since the token, of those conversations. Without a token there are none: a conversation that is
    /// opened has them all.
    pub cursors: Vec<MovedCursors>,
    /// Conversations that went away since.
    pub gone: Vec<Gone>,
    /// What else changed for the user, the latest change of each thing.
    pub account: Vec<AccountEntry>,
    /// Goes into `since` next time, or at once if there is `more`.
    #[cfg_attr(feature = "openapi", schema(value_type = shape::Cursor))]
    pub token: String,
    pub more: bool,
    /// The answer cannot be complete: the client must load everything anew. `token` is good for going on from there.
    pub truncated: bool,
}

/// Cursors of one conversation that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MovedCursors {
    pub conversation_id: ConversationId,
    pub cursors: Vec<MemberCursor>,
}

/// `GET /v1/conversations/gone?since=`: in the order in which they went away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GoneList {
    pub gone: Vec<Gone>,
    /// There are more than fit into an answer: they follow with the time of the last one as `since`, that one again included.
    pub more: bool,
    /// There may have been more: the server does not remember as far back.
    pub truncated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Gone {
    pub conversation_id: ConversationId,
    pub reason: GoneReason,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GoneReason {
    /// The conversation was deleted.
    Deleted,
    /// The user is no longer a member.
    Removed,
}

/// One entry of the user's account log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccountEntry {
    /// Rises with every change of the account.
    pub seq: u64,
    pub at: Timestamp,
    #[serde(flatten)]
    pub change: AccountChange,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AccountChange {
    /// The conversation is in the inbox now.
    ConversationListed {
        conversation_id: ConversationId,
    },
    /// The conversation is no longer in the inbox.
    ConversationGone {
        conversation_id: ConversationId,
        reason: GoneReason,
    },
    /// Pinned, muted, archived or marked as unread, or the opposite; or the draft changed.
    MembershipUpdated {
        conversation_id: ConversationId,
        membership: Membership,
    },
    /// Another device of the user has read further.
    ReadMoved {
        conversation_id: ConversationId,
        read: Seq,
        unread: u64,
    },
    /// The user has deleted a message for themselves.
    MessageHidden {
        message_id: MessageId,
    },
    MessageStarred {
        message_id: MessageId,
    },
    MessageUnstarred {
        message_id: MessageId,
    },
    /// A message was scheduled or changed.
    ScheduledUpdated {
        scheduled_id: ScheduledId,
    },
    /// A scheduled message was sent or cancelled.
    ScheduledGone {
        scheduled_id: ScheduledId,
    },
    UserBlocked {
        user_id: UserId,
    },
    UserUnblocked {
        user_id: UserId,
    },
    ProfileUpdated,
    DeviceAdded {
        device_id: DeviceId,
    },
    DeviceRemoved {
        device_id: DeviceId,
    },
    /// A kind of change that this version of the library does not know.
    #[serde(other)]
    Unknown,
}
