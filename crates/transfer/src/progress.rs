//! The progress of a transfer: what operators see, and where an interrupted transfer resumes.

use std::fmt;

use godwit_domain::ports::{Creation, Part};
use godwit_protocol::{ConversationId, UserId};
use serde::{Deserialize, Serialize};

/// The progress of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    pub phase: Phase,
    pub conversations: u64,
    pub conversations_total: u64,
    pub accounts: u64,
    pub accounts_total: u64,
    /// Log entries that are the same on both sides.
    pub entries: u64,
    /// Parts copied again because they had changed meanwhile.
    pub again: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    #[default]
    Counting,
    Conversations,
    Creations,
    Accounts,
    CatchingUp,
    Switching,
    Done,
}

impl Progress {
    /// Between 0 and 1. Conversations are most of the work.
    pub fn fraction(&self) -> f64 {
        const CONVERSATIONS: f64 = 0.85;
        let of = |done: u64, total: u64| {
            if total == 0 { 1.0 } else { (done as f64 / total as f64).min(1.0) }
        };
        match self.phase {
            Phase::Counting => 0.0,
            Phase::Conversations => CONVERSATIONS * of(self.conversations, self.conversations_total),
            Phase::Creations => CONVERSATIONS,
            Phase::Accounts => {
                CONVERSATIONS + (0.98 - CONVERSATIONS) * of(self.accounts, self.accounts_total)
            }
            Phase::CatchingUp | Phase::Switching => 0.98,
            Phase::Done => 1.0,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counting => "counting",
            Self::Conversations => "copying conversations",
            Self::Creations => "copying keys",
            Self::Accounts => "copying accounts",
            Self::CatchingUp => "catching up",
            Self::Switching => "switching",
            Self::Done => "done",
        })
    }
}

/// The progress of the first pass, stored in the target so that an interrupted run resumes from here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) progress: Progress,
    /// The last conversation, creation and account that were copied.
    pub(crate) conversation: Option<ConversationId>,
    pub(crate) creation: Option<Creation>,
    pub(crate) account: Option<UserId>,
    /// Parts that differed right after they were copied. They are copied again at the end, while writes are
    /// held.
    pub(crate) suspects: Vec<Part>,
}
