//! What users keep for themselves.

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Scheduled, Star};
use godwit_domain::ports::{Listed, PersonalStore, ReplaceScheduled, ScheduleOutcome, SeqRange, StoreError};
use godwit_protocol::{ConversationId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::{Fault, Faulty, port};

port! { impl PersonalStore {
    async fn hide(&self, user: UserId, conversation: ConversationId, seq: Seq, max: usize, note: AccountNote) -> Listed;
    async fn hidden(&self, user: UserId, conversation: ConversationId, range: SeqRange) -> Vec<Seq>;
    async fn hidden_from(&self, conversation: ConversationId, seq: Seq, limit: usize) -> Vec<UserId> {
        let limit = if self.has(Fault::OneHidesForAll) { limit.min(1) } else { limit };
        self.right.hidden_from(conversation, seq, limit).await
    }
    async fn star(&self, user: UserId, star: Star, max: usize, note: AccountNote) -> Listed {
        let max = if self.has(Fault::StarsHaveNoBound) { usize::MAX } else { max };
        self.right.star(user, star, max, note).await
    }
    async fn unstar(&self, user: UserId, message: MessageId, note: AccountNote) -> Option<AccountEntry>;
    async fn stars(&self, user: UserId, before: Option<MessageId>, limit: usize) -> Vec<Star>;
    async fn schedule(&self, scheduled: Scheduled, max: usize, note: AccountNote) -> ScheduleOutcome;
    async fn scheduled(&self, user: UserId) -> Vec<Scheduled>;
    async fn scheduled_one(&self, user: UserId, id: ScheduledId) -> Option<Scheduled>;
    async fn replace_scheduled(&self, expected: Scheduled, with: Option<Scheduled>, note: Option<AccountNote>) -> ReplaceScheduled {
        let expected = match self.right.scheduled_one(expected.user_id, expected.id).await? {
            Some(current) if self.has(Fault::ClaimsLookAtTheStageAlone) && current.stage == expected.stage => current,
            _ => expected,
        };
        match self.right.replace_scheduled(expected, with, note).await? {
            ReplaceScheduled::Changed if self.has(Fault::EveryClaimWins) => Ok(ReplaceScheduled::Replaced(None)),
            outcome => Ok(outcome),
        }
    }
    async fn due_scheduled(&self, now: Timestamp, limit: usize) -> Vec<(UserId, ScheduledId)>;
}}
