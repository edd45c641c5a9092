//! What is known of a move to another store, or from one.

use godwit_domain::ports::Moving;
use serde::{Deserialize, Serialize};

use super::Record;

#[derive(Serialize, Deserialize)]
pub(crate) struct MovingRecord {
    state: StateRecord,
    /// Changes leave this number at what they change. Over all moves it only rises.
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

impl Record for MovingRecord {
    const TABLE: &'static str = "moving";
}

impl MovingRecord {
    pub(crate) fn new(moving: Moving, round: u64) -> Self {
        let state = match moving {
            Moving::Not => StateRecord::Not,
            Moving::Out { to } => StateRecord::Out { to },
            Moving::Held { to } => StateRecord::Held { to },
            Moving::Gone { to } => StateRecord::Gone { to },
            Moving::In { from, progress } => StateRecord::In { from, progress },
        };
        Self { state, round }
    }

    pub(crate) fn into_moving(self) -> Moving {
        match self.state {
            StateRecord::Not => Moving::Not,
            StateRecord::Out { to } => Moving::Out { to },
            StateRecord::Held { to } => Moving::Held { to },
            StateRecord::Gone { to } => Moving::Gone { to },
            StateRecord::In { from, progress } => Moving::In { from, progress },
        }
    }
}

/// In which round a part was last changed.
#[derive(Serialize, Deserialize)]
pub(crate) struct RoundRecord(pub(crate) u64);

impl Record for RoundRecord {
    const TABLE: &'static str = "changed parts";
}
