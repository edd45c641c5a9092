//! Message states.

use godwit_domain::model::{Edited, Gone, MessageState, ReactionCount};
use godwit_protocol::{Seq, Timestamp, UserId};
use godwit_records::records;
use serde::{Deserialize, Serialize};

use super::messages::MentionsRecord;

records! {
    pub(crate) struct MessageStateRecord for MessageState {
        through: Seq,
        edits: Vec<Seq>,
        edited: Option<Box<EditedRecord>>,
        gone: Option<GoneRecord>,
        reactions: Vec<ReactionCountRecord>,
        replies: u32,
    }

    struct EditedRecord for Edited {
        at: Timestamp,
        text: Box<str>,
        mentions: MentionsRecord,
    }

    struct GoneRecord for Gone {
        at: Timestamp,
        by: Option<UserId>,
    }

    /// A reaction, with the number of users who gave it.
    pub(super) struct ReactionCountRecord for ReactionCount {
        reaction: Box<str>,
        count: u32,
    }
}

/// The reaction of a user.
#[derive(Serialize, Deserialize)]
pub(crate) struct ReactionRecord {
    pub(crate) reaction: Box<str>,
    pub(crate) at: Timestamp,
}
