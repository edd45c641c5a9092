//! The state of a transfer to another store, or from one.

use godwit_domain::ports::TransferState;
use serde::{Deserialize, Serialize};

use super::Record;

#[derive(Serialize, Deserialize)]
pub(crate) struct TransferRecord {
    state: StateRecord,
    /// Marks of changed parts carry this number. It only grows, across all transfers.
    pub(crate) round: u64,
}

#[derive(Serialize, Deserialize)]
enum StateRecord {
    Not,
    Out { to: String },
    Held { to: String },
    Gone { to: String },
    In { from: String, progress: String },
}

impl Record for TransferRecord {
    const TABLE: &'static str = "transfer";
}

impl TransferRecord {
    pub(crate) fn new(transfer: TransferState, round: u64) -> Self {
        let state = match transfer {
            TransferState::Not => StateRecord::Not,
            TransferState::Out { to } => StateRecord::Out { to },
            TransferState::Held { to } => StateRecord::Held { to },
            TransferState::Gone { to } => StateRecord::Gone { to },
            TransferState::In { from, progress } => StateRecord::In { from, progress },
        };
        Self { state, round }
    }

    pub(crate) fn into_state(self) -> TransferState {
        match self.state {
            StateRecord::Not => TransferState::Not,
            StateRecord::Out { to } => TransferState::Out { to },
            StateRecord::Held { to } => TransferState::Held { to },
            StateRecord::Gone { to } => TransferState::Gone { to },
            StateRecord::In { from, progress } => TransferState::In { from, progress },
        }
    }
}

/// The round in which a part last changed.
#[derive(Serialize, Deserialize)]
pub(crate) struct RoundRecord(pub(crate) u64);

impl Record for RoundRecord {
    const TABLE: &'static str = "changed parts";
}
