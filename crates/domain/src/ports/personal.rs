//! What is between a user and the server: messages deleted for oneself, starred and scheduled ones.

use async_trait::async_trait;
use godwit_protocol::{ConversationId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::{SeqRange, StoreError};
use crate::model::{AccountEntry, AccountNote, Scheduled, Star};

#[async_trait]
pub trait PersonalStore: Send + Sync {
    /// Hides a message from the user: [`Concealed::hidden_to`] is not before it from then on. Idempotent (the note is written
    /// each time). Refused when `max` messages of the conversation are hidden already. It stays when the user leaves.
    ///
    /// [`Concealed::hidden_to`]: crate::model::Concealed::hidden_to
    async fn hide(
        &self,
        user: UserId,
        conversation: ConversationId,
        seq: Seq,
        max: usize,
        note: AccountNote,
    ) -> Result<Listed, StoreError>;

    /// The places within a range that are hidden from the user, in order.
    async fn hidden(
        &self,
        user: UserId,
        conversation: ConversationId,
        range: SeqRange,
    ) -> Result<Vec<Seq>, StoreError>;

    /// Users who have hidden a message, members or not, at most `limit` of them.
    async fn hidden_from(
        &self,
        conversation: ConversationId,
        seq: Seq,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError>;

    /// Stars a message. `Unchanged` when it is starred already. Refused when the user has `max` stars.
    async fn star(
        &self,
        user: UserId,
        star: Star,
        max: usize,
        note: AccountNote,
    ) -> Result<Listed, StoreError>;

    /// Takes a star away; none when there was none.
    async fn unstar(
        &self,
        user: UserId,
        message: MessageId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError>;

    /// Starred messages, the latest message first; those before `before`.
    async fn stars(
        &self,
        user: UserId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Star>, StoreError>;

    /// Keeps a message to be sent later. Refused when the user has `max` of them that are
    /// [listed](crate::model::ScheduledStage::is_listed). The same conversation and client id again gives back the one that is there,
    /// also when it was sent.
    async fn schedule(
        &self,
        scheduled: Scheduled,
        max: usize,
        note: AccountNote,
    ) -> Result<ScheduleOutcome, StoreError>;

    /// All of a user, in any order, those that were sent too.
    async fn scheduled(&self, user: UserId) -> Result<Vec<Scheduled>, StoreError>;

    async fn scheduled_one(&self, user: UserId, id: ScheduledId) -> Result<Option<Scheduled>, StoreError>;

    /// Puts another value in the place of a scheduled message, or takes it away, if all of it is still as expected: its
    /// stage, its time and its draft. Atomic: of concurrent calls that expect the same value and change it, one succeeds,
    /// so nobody overwrites a change that they have not read. With a new time it is due then.
    async fn replace_scheduled(
        &self,
        expected: Scheduled,
        with: Option<Scheduled>,
        note: Option<AccountNote>,
    ) -> Result<ReplaceScheduled, StoreError>;

    /// Scheduled messages whose time had come at `now` and that are not [`Failed`](crate::model::ScheduledStage::Failed), the
    /// longest due first.
    async fn due_scheduled(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(UserId, ScheduledId)>, StoreError>;
}

/// What became of something that was to be put into a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    Added(AccountEntry),
    Unchanged,
    Full,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleOutcome {
    Scheduled(AccountEntry),
    Repeated(Scheduled),
    Full,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplaceScheduled {
    Replaced(Option<AccountEntry>),
    /// It is not as expected any more.
    Changed,
    NotFound,
}
