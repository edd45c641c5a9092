//! What is between a user and the server: starred and scheduled messages.

use godwit_protocol::{ConversationId, ErrorCode, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::message::Draft;

/// A message that a user wants to find again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Star {
    pub message_id: MessageId,
    pub conversation: ConversationId,
    pub seq: Seq,
    pub at: Timestamp,
}

/// A message that is to be sent later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduled {
    pub id: ScheduledId,
    pub user_id: UserId,
    pub conversation: ConversationId,
    pub send_at: Timestamp,
    pub draft: Draft,
    pub stage: ScheduledStage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduledStage {
    /// It can be changed and cancelled.
    Waiting,
    /// A node has begun to send it. It is past changing; whoever finds it like this goes on.
    Sending,
    /// It was refused when its time came.
    Failed(ErrorCode),
    /// It has become this message, and is remembered for a while: it is due when it is to be forgotten. Its draft has no
    /// content any more.
    Sent(MessageId),
}

impl Scheduled {
    /// What is left of it after it was sent.
    #[must_use]
    pub fn remembered_as(self, message: MessageId, until: Timestamp) -> Self {
        let Draft { client_id, .. } = self.draft;
        Self {
            draft: Draft { client_id, body: None, reply_to: None, forwarded_from: None },
            send_at: until,
            stage: ScheduledStage::Sent(message),
            ..self
        }
    }
}

impl ScheduledStage {
    /// Whether it still is to be sent, or was refused: these are what a user has scheduled.
    pub const fn is_listed(self) -> bool {
        !matches!(self, Self::Sent(_))
    }
}
