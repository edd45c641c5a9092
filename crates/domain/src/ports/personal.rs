//! The port for data that only one user sees: hidden, starred and scheduled messages.

use async_trait::async_trait;
use godwit_protocol::{ConversationId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::{AccountStore, SeqRange, StoreError};
use crate::account::{AccountCommand, Listed, ReplaceScheduled, ScheduleOutcome};
use crate::model::{AccountEntry, AccountNote, Scheduled, Star};

#[async_trait]
pub trait PersonalStore: AccountStore {
    /// Hides a message from the user and moves [`Concealed::hidden_to`] forward to it. Refused if `max` messages of the
    /// conversation are hidden already. The message stays hidden when the user leaves. Idempotent, except that the note is
    /// written each time.
    ///
    /// [`Concealed::hidden_to`]: crate::model::Concealed::hidden_to
    async fn hide(
        &self,
        user: UserId,
        conversation: ConversationId,
        seq: Seq,
        max: usize,
        note: AccountNote,
    ) -> Result<Listed, StoreError> {
        let command = AccountCommand::Hide { conversation, seq, note, hidden_max: max };
        Ok(self.change_account(user, command).await?.into())
    }

    /// The seqs within a range that are hidden from the user, in order.
    async fn hidden(
        &self,
        user: UserId,
        conversation: ConversationId,
        range: SeqRange,
    ) -> Result<Vec<Seq>, StoreError>;

    /// Users who have hidden a message, members or not, at most `limit`.
    async fn hidden_from(
        &self,
        conversation: ConversationId,
        seq: Seq,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError>;

    /// Stars a message. `Unchanged` if it is starred already. Refused if the user has `max` stars.
    async fn star(
        &self,
        user: UserId,
        star: Star,
        max: usize,
        note: AccountNote,
    ) -> Result<Listed, StoreError> {
        let command = AccountCommand::Star { star, note, stars_max: max };
        Ok(self.change_account(user, command).await?.into())
    }

    /// Removes a star. `None` if there was none.
    async fn unstar(
        &self,
        user: UserId,
        message: MessageId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        Ok(self.change_account(user, AccountCommand::Unstar { message, note }).await?.into())
    }

    /// Starred messages before `before`, the latest message first.
    async fn stars(
        &self,
        user: UserId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Star>, StoreError>;

    /// Stores a message to send later. Refused if the user has `max` [listed](crate::model::ScheduledStage::is_listed) ones.
    /// A retry with the same conversation and client id returns the stored one, also after it was sent.
    async fn schedule(
        &self,
        scheduled: Scheduled,
        max: usize,
        note: AccountNote,
    ) -> Result<ScheduleOutcome, StoreError> {
        let (user, scheduled) = (scheduled.user_id, Box::new(scheduled));
        let command = AccountCommand::Schedule { scheduled, note, scheduled_max: max };
        Ok(self.change_account(user, command).await?.into())
    }

    /// All scheduled messages of a user, in any order, including those that were sent.
    async fn scheduled(&self, user: UserId) -> Result<Vec<Scheduled>, StoreError>;

    async fn scheduled_one(&self, user: UserId, id: ScheduledId) -> Result<Option<Scheduled>, StoreError>;

    /// Replaces or removes a scheduled message, if its stage, time and draft are still as expected. Atomic: of concurrent
    /// calls that expect the same value and change it, one succeeds, so nobody overwrites a change that they have not read.
    /// A new time replaces the due time.
    async fn replace_scheduled(
        &self,
        expected: Scheduled,
        with: Option<Scheduled>,
        note: Option<AccountNote>,
    ) -> Result<ReplaceScheduled, StoreError> {
        let (user, expected, with) = (expected.user_id, Box::new(expected), with.map(Box::new));
        let command = AccountCommand::ReplaceScheduled { expected, with, note };
        Ok(self.change_account(user, command).await?.into())
    }

    /// Scheduled messages that were [due](Scheduled::due_at) at `now`, the longest overdue first.
    async fn due_scheduled(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(UserId, ScheduledId)>, StoreError>;
}
