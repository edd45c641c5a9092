//! Message states.

use godwit_domain::model::{Edited, Gone, MessageState, ReactionCount};
use godwit_protocol::{Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::Record;
use super::messages::MentionsRecord;

#[derive(Serialize, Deserialize)]
pub(crate) struct MessageStateRecord {
    through: Seq,
    edits: Vec<Seq>,
    edited: Option<EditedRecord>,
    gone: Option<(Timestamp, Option<UserId>)>,
    reactions: CountsRecord,
    replies: u32,
}

#[derive(Serialize, Deserialize)]
struct EditedRecord {
    at: Timestamp,
    text: Box<str>,
    mentions: MentionsRecord,
}

/// Each reaction, with the number of users who gave it.
pub(super) type CountsRecord = Vec<CountedRecord>;

#[derive(Serialize, Deserialize)]
pub(super) struct CountedRecord(Box<str>, u32);

impl Record for MessageStateRecord {
    const TABLE: &'static str = "message states";
}

impl From<MessageState> for MessageStateRecord {
    fn from(state: MessageState) -> Self {
        let edited = |edited: Box<Edited>| EditedRecord {
            at: edited.at,
            text: edited.text,
            mentions: edited.mentions.into(),
        };
        Self {
            through: state.through,
            edits: state.edits,
            edited: state.edited.map(edited),
            gone: state.gone.map(|gone| (gone.at, gone.by)),
            reactions: state.reactions.into_iter().map(Into::into).collect(),
            replies: state.replies,
        }
    }
}

impl From<MessageStateRecord> for MessageState {
    fn from(record: MessageStateRecord) -> Self {
        let edited = |edited: EditedRecord| {
            let EditedRecord { at, text, mentions } = edited;
            Box::new(Edited { at, text, mentions: mentions.into() })
        };
        Self {
            through: record.through,
            edits: record.edits,
            edited: record.edited.map(edited),
            gone: record.gone.map(|(at, by)| Gone { at, by }),
            reactions: record.reactions.into_iter().map(Into::into).collect(),
            replies: record.replies,
        }
    }
}

impl From<ReactionCount> for CountedRecord {
    fn from(ReactionCount { reaction, count }: ReactionCount) -> Self {
        Self(reaction, count)
    }
}

impl From<CountedRecord> for ReactionCount {
    fn from(CountedRecord(reaction, count): CountedRecord) -> Self {
        Self { reaction, count }
    }
}

/// The reaction of a user.
#[derive(Serialize, Deserialize)]
pub(crate) struct ReactionRecord {
    pub(crate) reaction: Box<str>,
    pub(crate) at: Timestamp,
}

impl Record for ReactionRecord {
    const TABLE: &'static str = "reactions";
}
