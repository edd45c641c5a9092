use godwit_domain::ports::TransferState;

use super::{Sample, read, sample};
use crate::records::{RoundRecord, TransferRecord};

pub(super) fn samples() -> Vec<Sample> {
    let mut samples: Vec<Sample> =
        states().map(|(name, transfer)| sample(name, &TransferRecord::new(&transfer, 300))).into();
    samples.push(sample("round", &RoundRecord(300)));
    samples
}

#[test]
fn samples_decode_to_their_values() {
    for (name, transfer) in states() {
        let record: TransferRecord = read(&sample(name, &TransferRecord::new(&transfer, 300)));
        assert_eq!((record.round, record.into_state()), (300, transfer));
    }
}

fn states() -> [(&'static str, TransferState); 5] {
    let to = || "t".to_owned();
    [
        ("no transfer", TransferState::Not),
        ("transfer out", TransferState::Out { to: to() }),
        ("held", TransferState::Held { to: to() }),
        ("gone", TransferState::Gone { to: to() }),
        ("transfer in", TransferState::In { from: "f".into(), progress: "p".into() }),
    ]
}
