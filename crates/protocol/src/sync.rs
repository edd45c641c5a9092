//! Changes in all conversations since a token: `GET /v1/sync`.

use serde::{Deserialize, Serialize};

use crate::conversations::{Conversation, MemberCursor, Membership};
#[cfg(feature = "openapi")]
use crate::shape;
use crate::{ConversationId, DeviceId, MessageId, ScheduledId, Seq, Timestamp, UserId};

/// `GET /v1/sync?since=` and the `sync` command of the socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SyncPage {
    /// Conversations with any change since the token (a log entry of any type, or a member's cursor) in their current
    /// state, latest change first. A conversation may be listed although it has no new entries: compare `head` with the
    /// client's own.
    pub conversations: Vec<Conversation>,
    /// Cursors in these conversations that moved since the token. Empty without a token, because a conversation that is
    /// requested on its own has all cursors.
    pub cursors: Vec<MovedCursors>,
    /// Conversations that were deleted, or that the user left or was removed from, since the token.
    pub gone: Vec<Gone>,
    /// Other changes for the user, the latest one per subject.
    pub account: Vec<AccountEntry>,
    /// Pass it as `since` in the next request. If `more` is true, send that request at once.
    #[cfg_attr(feature = "openapi", schema(value_type = shape::Cursor))]
    pub token: String,
    pub more: bool,
    /// The changes are incomplete: the client must reload everything and continue with `token`.
    pub truncated: bool,
}

/// The cursors of one conversation that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MovedCursors {
    pub conversation_id: ConversationId,
    pub cursors: Vec<MemberCursor>,
}

/// `GET /v1/conversations/gone?since=`: conversations that were deleted, or that the user left or was removed from, oldest
/// first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GoneList {
    pub gone: Vec<Gone>,
    /// More conversations follow. Pass the time of the last one as `since` to get the rest; the last one is then included
    /// again.
    pub more: bool,
    /// The list may be incomplete, because the server does not keep records for that long.
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
    /// Increases with every change of the account.
    pub seq: u64,
    pub at: Timestamp,
    #[serde(flatten)]
    pub change: AccountChange,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AccountChange {
    /// The conversation was added to the inbox.
    ConversationListed {
        conversation_id: ConversationId,
    },
    /// The conversation was removed from the inbox.
    ConversationGone {
        conversation_id: ConversationId,
        reason: GoneReason,
    },
    /// The user changed their settings for the conversation: pinned, muted, archived, marked as unread, or the draft.
    MembershipUpdated {
        conversation_id: ConversationId,
        membership: Membership,
    },
    /// The read cursor moved on another device of the user.
    ReadMoved {
        conversation_id: ConversationId,
        read: Seq,
        unread: u64,
    },
    /// The user has deleted a message for themselves. The preview, the unread counts and the pins of the conversation may be
    /// others now.
    MessageHidden {
        conversation_id: ConversationId,
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
