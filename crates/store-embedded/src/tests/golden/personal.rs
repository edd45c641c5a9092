use godwit_domain::model::{ClientId, Draft, Scheduled, ScheduledStage, Star};
use godwit_protocol::{ConversationId, ErrorCode, MessageId, ScheduledId, Seq, UserId};

use super::{AT, ID, Sample, bodies, read, sample};
use crate::records::{ScheduledRecord, StarRecord};

pub(super) fn samples() -> Vec<Sample> {
    let mut samples = vec![sample("star", &StarRecord::from(&star()))];
    let stages = stages().map(|(name, stage)| sample(name, &ScheduledRecord::from(&scheduled(stage))));
    samples.extend(stages);
    samples.push(sample("forward", &ScheduledRecord::from(&forward())));
    samples
}

#[test]
fn samples_decode_to_their_values() {
    let record: StarRecord = read(&sample("star", &StarRecord::from(&star())));
    assert_eq!(record.into_star(star().message_id), star());
    for (name, stage) in stages() {
        let written = scheduled(stage);
        let row = sample(name, &ScheduledRecord::from(&written));
        let record: ScheduledRecord<'_> = read(&row);
        assert_eq!(record.into_scheduled(written.user_id, written.id), written);
    }
}

fn star() -> Star {
    Star { message_id: MessageId::new(1), conversation: ConversationId::new(ID), seq: Seq::new(300), at: AT }
}

fn stages() -> [(&'static str, ScheduledStage); 5] {
    [
        ("waiting", ScheduledStage::Waiting),
        ("sending", ScheduledStage::Sending),
        ("failed", ScheduledStage::Failed(ErrorCode::Blocked)),
        ("failed for unknown reasons", ScheduledStage::Failed(ErrorCode::Unknown)),
        ("sent", ScheduledStage::Sent(MessageId::new(9))),
    ]
}

fn forward() -> Scheduled {
    let scheduled = scheduled(ScheduledStage::Waiting);
    let forwarded_from = Some(MessageId::new(4));
    Scheduled { draft: Draft { body: None, forwarded_from, ..scheduled.draft.clone() }, ..scheduled }
}

fn scheduled(stage: ScheduledStage) -> Scheduled {
    let [(_, body), ..] = bodies();
    Scheduled {
        id: ScheduledId::new(1),
        user_id: UserId::new(2),
        conversation: ConversationId::new(ID),
        send_at: AT,
        draft: Draft {
            client_id: ClientId::from_stored("c1"),
            body: Some(body),
            reply_to: Some(MessageId::new(3)),
            forwarded_from: None,
        },
        stage,
    }
}
