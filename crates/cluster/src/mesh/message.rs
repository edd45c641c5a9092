//! Requests and replies between nodes.

use std::sync::Arc;

use godwit_domain::actions::{Action, Done, Refusal};
use godwit_domain::model::Entry;
use godwit_protocol::messages::LogEntry;
use godwit_protocol::{ConversationId, UserId};
use serde::{Deserialize, Serialize};

use crate::notice::Notice;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) id: u64,
    pub(super) body: Asked,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Asked {
    Act {
        actor: UserId,
        conversation: ConversationId,
        action: Action,
    },
    Obey(Notice),
    /// Checks that the other node is alive.
    Ping,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reply {
    pub(super) id: u64,
    pub(super) body: Answered,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answered {
    Done(SentDone),
    Refused(Refusal),
    /// The notice is in effect, or the node is alive.
    Yes,
}

/// The shown entries are JSON inside postcard, because their API types can only be read from JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SentDone {
    entries: Vec<Arc<Entry>>,
    shown: Vec<u8>,
    repeated: bool,
}

impl Answered {
    pub(super) fn of(outcome: Result<Done, Refusal>) -> Self {
        match outcome {
            Ok(done) => {
                let shown = serde_json::to_vec(&done.shown).unwrap_or_default();
                Self::Done(SentDone { entries: done.entries, shown, repeated: done.repeated })
            }
            Err(refusal) => Self::Refused(refusal),
        }
    }

    /// `None` when the reply does not belong to an action.
    pub(super) fn outcome(self) -> Option<Result<Done, Refusal>> {
        match self {
            Self::Done(SentDone { entries, shown, repeated }) => {
                let shown: Vec<Arc<LogEntry>> = serde_json::from_slice(&shown).ok()?;
                Some(Ok(Done { entries, shown, repeated }))
            }
            Self::Refused(refusal) => Some(Err(refusal)),
            Self::Yes => None,
        }
    }
}
