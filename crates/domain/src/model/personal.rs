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
}
