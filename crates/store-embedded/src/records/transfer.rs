//! The state of a transfer to another store, or from one.

use godwit_domain::ports::TransferState;
use godwit_records::records;
use serde::{Deserialize, Serialize};

records! {
    enum StateRecord for TransferState {
        Not,
        Out { to: String },
        Held { to: String },
        Gone { to: String },
        In { from: String, progress: String },
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct TransferRecord {
    state: StateRecord,
    /// Marks of changed parts carry this number. It only grows, across all transfers.
    pub(crate) round: u64,
}

impl TransferRecord {
    pub(crate) fn new(transfer: &TransferState, round: u64) -> Self {
        Self { state: transfer.into(), round }
    }

    pub(crate) fn into_state(self) -> TransferState {
        self.state.into()
    }
}

/// The round in which a part last changed.
#[derive(Serialize, Deserialize)]
pub(crate) struct RoundRecord(pub(crate) u64);
