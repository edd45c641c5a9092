//! Message states, and the last message of a log.

use godwit_domain::model::{Edited, Gone, LastMessage, MessageState, ReactionCount};
use godwit_protocol::messages::MessageKind;
use godwit_protocol::{MessageId, Seq, Timestamp, UserId};
use godwit_records::records;

use super::is_false;
use super::messages::StoredMentions;

records! {
    pub(crate) struct StoredState for MessageState {
        through: Seq,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        edits: Vec<Seq>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited: Option<Box<StoredEdited>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gone: Option<StoredGone>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reactions: Vec<StoredCount>,
        #[serde(default)]
        replies: u32,
    }

    struct StoredEdited for Edited {
        at: Timestamp,
        text: Box<str>,
        #[serde(default)]
        mentions: StoredMentions,
    }

    struct StoredGone for Gone {
        at: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<UserId>,
    }

    /// A reaction, and the number of users who gave it.
    pub(crate) struct StoredCount for ReactionCount (reaction: Box<str>, count: u32);

    pub(crate) struct StoredLastMessage for LastMessage {
        id: MessageId,
        seq: Seq,
        sender_id: UserId,
        kind: MessageKind,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event: Option<Box<str>>,
        preview: Box<str>,
        #[serde(default, skip_serializing_if = "is_false")]
        gone: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    }
}
