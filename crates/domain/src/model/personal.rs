//! Starred and scheduled messages, which only their user sees.

use godwit_protocol::{ConversationId, ErrorCode, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::message::Draft;

/// A message that a user has starred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Star {
    pub message_id: MessageId,
    pub conversation: ConversationId,
    pub seq: Seq,
    pub at: Timestamp,
}

/// A message to send later.
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
    /// The user can change and cancel it.
    Waiting,
    /// A node has begun to send it, and the user can no longer change it. If that node stops, another one finishes.
    Sending,
    /// It was refused when it was due.
    Failed(ErrorCode),
    /// It was sent as this message. The record has lost its draft and stays for a while; it is due when it may be removed.
    Sent(MessageId),
}

impl Scheduled {
    /// When the server must act on it: send it, or remove its record. A failed message waits for its user.
    pub const fn due_at(&self) -> Option<Timestamp> {
        match self.stage {
            ScheduledStage::Failed(_) => None,
            ScheduledStage::Waiting | ScheduledStage::Sending | ScheduledStage::Sent(_) => Some(self.send_at),
        }
    }

    /// The record that stays after a scheduled message was sent.
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
    /// True if the user's list shows it: it will be sent, or it was refused.
    pub const fn is_listed(self) -> bool {
        !matches!(self, Self::Sent(_))
    }
}
