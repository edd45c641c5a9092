//! Stars and scheduled messages.

use godwit_domain::model::{Scheduled, ScheduledStage, Star};
use godwit_protocol::{ConversationId, ErrorCode, MessageId, ScheduledId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::records::StoredDraft;

/// Its names are short because an account may have thousands of stars.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::account) struct StarBody {
    #[serde(rename = "c")]
    conversation: ConversationId,
    #[serde(rename = "s")]
    seq: Seq,
    #[serde(rename = "t")]
    at: i64,
}

impl From<&Star> for StarBody {
    fn from(star: &Star) -> Self {
        Self { conversation: star.conversation, seq: star.seq, at: star.at.as_millis() }
    }
}

impl StarBody {
    pub(in crate::account) const fn into_star(self, message_id: MessageId) -> Star {
        Star {
            message_id,
            conversation: self.conversation,
            seq: self.seq,
            at: Timestamp::from_millis(self.at),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(in crate::account) struct ScheduledBody {
    conversation: ConversationId,
    send_at: Timestamp,
    draft: StoredDraft,
    stage: StageBody,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StageBody {
    Waiting,
    Sending,
    Failed(ErrorCode),
    Sent(MessageId),
}

impl From<&Scheduled> for ScheduledBody {
    fn from(scheduled: &Scheduled) -> Self {
        let stage = match scheduled.stage {
            ScheduledStage::Waiting => StageBody::Waiting,
            ScheduledStage::Sending => StageBody::Sending,
            ScheduledStage::Failed(code) => StageBody::Failed(code),
            ScheduledStage::Sent(message) => StageBody::Sent(message),
        };
        Self {
            conversation: scheduled.conversation,
            send_at: scheduled.send_at,
            draft: StoredDraft::from(&scheduled.draft),
            stage,
        }
    }
}

impl ScheduledBody {
    pub(in crate::account) fn into_scheduled(self, id: ScheduledId, user_id: UserId) -> Scheduled {
        let stage = match self.stage {
            StageBody::Waiting => ScheduledStage::Waiting,
            StageBody::Sending => ScheduledStage::Sending,
            StageBody::Failed(code) => ScheduledStage::Failed(code),
            StageBody::Sent(message) => ScheduledStage::Sent(message),
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
