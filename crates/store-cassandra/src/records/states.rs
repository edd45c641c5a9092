//! Message states, and the last message of a log.

use godwit_domain::model::{Edited, Gone, LastMessage, MessageState, ReactionCount};
use godwit_protocol::messages::MessageKind;
use godwit_protocol::{MessageId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::is_false;
use super::messages::StoredMentions;

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredState {
    through: Seq,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    edits: Vec<Seq>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edited: Option<StoredEdited>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gone: Option<StoredGone>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reactions: Vec<StoredCount>,
    #[serde(default)]
    replies: u32,
}

#[derive(Serialize, Deserialize)]
struct StoredEdited {
    at: Timestamp,
    text: Box<str>,
    #[serde(default)]
    mentions: StoredMentions,
}

#[derive(Serialize, Deserialize)]
struct StoredGone {
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<UserId>,
}

/// A reaction, and the number of users who gave it.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredCount(Box<str>, u32);

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredLastMessage {
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

impl From<&MessageState> for StoredState {
    fn from(state: &MessageState) -> Self {
        let MessageState { through, edits, edited, gone, reactions, replies } = state;
        let edited = edited.as_ref().map(|edited| StoredEdited {
            at: edited.at,
            text: edited.text.clone(),
            mentions: StoredMentions::from(&edited.mentions),
        });
        Self {
            through: *through,
            edits: edits.clone(),
            edited,
            gone: gone.map(|gone| StoredGone { at: gone.at, by: gone.by }),
            reactions: reactions.iter().map(StoredCount::from).collect(),
            replies: *replies,
        }
    }
}

impl From<StoredState> for MessageState {
    fn from(stored: StoredState) -> Self {
        let edited = |edited: StoredEdited| {
            let StoredEdited { at, text, mentions } = edited;
            Box::new(Edited { at, text, mentions: mentions.into() })
        };
        Self {
            through: stored.through,
            edits: stored.edits,
            edited: stored.edited.map(edited),
            gone: stored.gone.map(|gone| Gone { at: gone.at, by: gone.by }),
            reactions: stored.reactions.into_iter().map(ReactionCount::from).collect(),
            replies: stored.replies,
        }
    }
}

impl From<&ReactionCount> for StoredCount {
    fn from(count: &ReactionCount) -> Self {
        Self(count.reaction.clone(), count.count)
    }
}

impl From<StoredCount> for ReactionCount {
    fn from(StoredCount(reaction, count): StoredCount) -> Self {
        Self { reaction, count }
    }
}

impl From<&LastMessage> for StoredLastMessage {
    fn from(last: &LastMessage) -> Self {
        let LastMessage { id, seq, sender_id, kind, event, preview, gone, expires_at } = last.clone();
        Self { id, seq, sender_id, kind, event, preview, gone, expires_at }
    }
}

impl From<StoredLastMessage> for LastMessage {
    fn from(stored: StoredLastMessage) -> Self {
        let StoredLastMessage { id, seq, sender_id, kind, event, preview, gone, expires_at } = stored;
        Self { id, seq, sender_id, kind, event, preview, gone, expires_at }
    }
}
