//! Starred and scheduled messages.

use godwit_domain::model::{Scheduled, ScheduledStage, Star};
use godwit_protocol::{ConversationId, ErrorCode, MessageId, ScheduledId, Seq, Timestamp, UserId};
use godwit_records::{Stored, records};
use serde::{Deserialize, Serialize};

use super::messages::DraftRecord;

records! {
    pub(crate) struct StarRecord for Star, into_star(message_id: MessageId) {
        conversation: ConversationId,
        seq: Seq,
        at: Timestamp,
    }

    pub(crate) struct ScheduledRecord<'a> for Scheduled, into_scheduled(user_id: UserId, id: ScheduledId) {
        conversation: ConversationId,
        send_at: Timestamp,
        #[serde(borrow)]
        draft: DraftRecord<'a>,
        stage: StageRecord,
    }

    enum StageRecord for ScheduledStage {
        Waiting,
        Sending,
        Failed(code: CodeRecord),
        Sent(message: MessageId),
    }
}

/// The text of an error code, which never changes.
#[derive(Serialize, Deserialize)]
struct CodeRecord(Box<str>);

impl Stored<'_, ErrorCode> for CodeRecord {
    fn of(code: &ErrorCode) -> Self {
        Self(code.as_str().into())
    }

    fn restore(self) -> ErrorCode {
        let known = ErrorCode::ALL.iter().map(|(code, _)| *code).find(|code| code.as_str() == &*self.0);
        known.unwrap_or(ErrorCode::Unknown)
    }
}
