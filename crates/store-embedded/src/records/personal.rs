//! Starred and scheduled messages.

use godwit_domain::model::{Scheduled, ScheduledStage, Star};
use godwit_protocol::{ConversationId, ErrorCode, MessageId, ScheduledId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::Record;
use super::messages::DraftRecord;

#[derive(Serialize, Deserialize)]
pub(crate) struct StarRecord {
    conversation: ConversationId,
    seq: Seq,
    at: Timestamp,
}

impl Record for StarRecord {
    const TABLE: &'static str = "stars";
}

impl From<Star> for StarRecord {
    fn from(star: Star) -> Self {
        Self { conversation: star.conversation, seq: star.seq, at: star.at }
    }
}

impl StarRecord {
    pub(crate) fn into_star(self, message_id: MessageId) -> Star {
        Star { message_id, conversation: self.conversation, seq: self.seq, at: self.at }
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ScheduledRecord<'a> {
    conversation: ConversationId,
    send_at: Timestamp,
    #[serde(borrow)]
    draft: DraftRecord<'a>,
    stage: StageRecord,
}

#[derive(Serialize, Deserialize)]
enum StageRecord {
    Waiting,
    Sending,
    /// With the text of the error code, which never changes.
    Failed(Box<str>),
    Sent(MessageId),
}

impl Record for ScheduledRecord<'_> {
    const TABLE: &'static str = "scheduled";
}

impl<'a> From<&'a Scheduled> for ScheduledRecord<'a> {
    fn from(scheduled: &'a Scheduled) -> Self {
        let stage = match scheduled.stage {
            ScheduledStage::Waiting => StageRecord::Waiting,
            ScheduledStage::Sending => StageRecord::Sending,
            ScheduledStage::Failed(code) => StageRecord::Failed(code.as_str().into()),
            ScheduledStage::Sent(message) => StageRecord::Sent(message),
        };
        Self {
            conversation: scheduled.conversation,
            send_at: scheduled.send_at,
            draft: (&scheduled.draft).into(),
            stage,
        }
    }
}

impl ScheduledRecord<'_> {
    pub(crate) fn into_scheduled(self, user_id: UserId, id: ScheduledId) -> Scheduled {
        let stage = match self.stage {
            StageRecord::Waiting => ScheduledStage::Waiting,
            StageRecord::Sending => ScheduledStage::Sending,
            StageRecord::Failed(text) => ScheduledStage::Failed(error_code(&text)),
            StageRecord::Sent(message) => ScheduledStage::Sent(message),
        };
        Scheduled {
            id,
            user_id,
            conversation: self.conversation,
            send_at: self.send_at,
            draft: self.draft.into(),
            stage,
        }
    }
}

fn error_code(text: &str) -> ErrorCode {
    let known = ErrorCode::ALL.iter().map(|(code, _)| *code).find(|code| code.as_str() == text);
    known.unwrap_or(ErrorCode::Unknown)
}
