use godwit_domain::ports::Moving;

use super::{Sample, read, sample};
use crate::records::{MovingRecord, RoundRecord};

pub(super) fn samples() -> Vec<Sample> {
    let mut samples: Vec<Sample> =
        states().map(|(name, moving)| sample(name, &MovingRecord::new(moving, 300))).into();
    samples.push(sample("round", &RoundRecord(300)));
    samples
}

#[test]
fn what_was_written_is_read() {
    for (name, moving) in states() {
        let record: MovingRecord = read(&sample(name, &MovingRecord::new(moving.clone(), 300)));
        assert_eq!((record.round, record.into_moving()), (300, moving));
    }
}

fn states() -> [(&'static str, Moving); 5] {
    let to = || "t".to_owned();
    [
        ("not moving", Moving::Not),
        ("moving out", Moving::Out { to: to() }),
        ("held", Moving::Held { to: to() }),
        ("gone", Moving::Gone { to: to() }),
        ("moving in", Moving::In { from: "f".into(), progress: "p".into() }),
    ]
}
