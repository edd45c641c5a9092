//! Selects a part of a history.

use godwit_protocol::messages::ReadHistory;
use godwit_protocol::{ConversationId, Position, Timestamp};

/// The part of the history to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    Newest,
    Before(Position),
    After(Position),
    Around(Position),
    BeforeTime(Timestamp),
}

impl History {
    pub(crate) const fn of(self, conversation: ConversationId, limit: Option<u16>) -> ReadHistory {
        let newest = ReadHistory { limit, ..ReadHistory::newest(conversation) };
        match self {
            Self::Newest => newest,
            Self::Before(place) => ReadHistory { before: Some(place), ..newest },
            Self::After(place) => ReadHistory { after: Some(place), ..newest },
            Self::Around(place) => ReadHistory { around: Some(place), ..newest },
            Self::BeforeTime(time) => ReadHistory { before_time: Some(time), ..newest },
        }
    }
}
