//! Data that only one user sees.

use async_trait::async_trait;
use godwit_domain::model::{Scheduled, Star};
use godwit_domain::ports::{PersonalStore, SeqRange, StoreError};
use godwit_protocol::{ConversationId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::{Fault, Faulty, port};

port! { impl PersonalStore {
    async fn hidden(&self, user: UserId, conversation: ConversationId, range: SeqRange) -> Vec<Seq>;
    async fn hidden_from(&self, conversation: ConversationId, seq: Seq, limit: usize) -> Vec<UserId> {
        let limit = if self.has(Fault::OnlyOneHiderIsFound) { limit.min(1) } else { limit };
        self.right.hidden_from(conversation, seq, limit).await
    }
    async fn stars(&self, user: UserId, before: Option<MessageId>, limit: usize) -> Vec<Star>;
    async fn scheduled(&self, user: UserId) -> Vec<Scheduled>;
    async fn scheduled_one(&self, user: UserId, id: ScheduledId) -> Option<Scheduled>;
    async fn due_scheduled(&self, now: Timestamp, limit: usize) -> Vec<(UserId, ScheduledId)>;
}}
