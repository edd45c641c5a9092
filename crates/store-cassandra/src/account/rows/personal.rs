//! Stars and scheduled messages.

use godwit_domain::model::{Scheduled, ScheduledStage, Star};
use godwit_protocol::{ConversationId, ErrorCode, MessageId, ScheduledId, Seq, Timestamp, UserId};
use godwit_records::records;

use super::Millis;
use crate::records::StoredDraft;

records! {
    /// Its names are short because an account may have thousands of stars.
    pub(in crate::account) struct StarBody for Star, into_star(message_id: MessageId) {
        #[serde(rename = "c")]
        conversation: ConversationId,
        #[serde(rename = "s")]
        seq: Seq,
        #[serde(rename = "t")]
        at: Millis,
    }

    pub(in crate::account) struct ScheduledBody for Scheduled,
    into_scheduled(id: ScheduledId, user_id: UserId) {
        conversation: ConversationId,
        send_at: Timestamp,
        draft: StoredDraft,
        stage: StageBody,
    }

    #[serde(rename_all = "snake_case")]
    enum StageBody for ScheduledStage {
        Waiting,
        Sending,
        Failed(code: ErrorCode),
        Sent(message: MessageId),
    }
}
