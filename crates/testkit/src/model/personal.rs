use async_trait::async_trait;
use godwit_domain::model::{Scheduled, Star};
use godwit_domain::ports::{PersonalStore, SeqRange, StoreError};
use godwit_protocol::{ConversationId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::{ModelStore, State};

#[async_trait]
impl PersonalStore for ModelStore {
    async fn hidden(
        &self,
        user: UserId,
        conversation: ConversationId,
        range: SeqRange,
    ) -> Result<Vec<Seq>, StoreError> {
        let within = |seq: &Seq| *seq > range.after && *seq < range.before;
        Ok(self.state().hidden_in(user, conversation).filter(within).collect())
    }

    async fn hidden_from(
        &self,
        conversation: ConversationId,
        seq: Seq,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        let state = self.state();
        let hidden = state.hidden.iter().filter(|(_, id, place)| (*id, *place) == (conversation, seq));
        Ok(hidden.map(|(user, ..)| *user).take(limit).collect())
    }

    async fn stars(
        &self,
        user: UserId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Star>, StoreError> {
        let state = self.state();
        let latest_first = state.stars.iter().rev().filter(|((by, _), _)| *by == user).map(|(_, star)| *star);
        let wanted = latest_first.filter(|star| before.is_none_or(|before| star.message_id < before));
        Ok(wanted.take(limit).collect())
    }

    async fn scheduled(&self, user: UserId) -> Result<Vec<Scheduled>, StoreError> {
        Ok(self.state().scheduled_of(user).cloned().collect())
    }

    async fn scheduled_one(&self, user: UserId, id: ScheduledId) -> Result<Option<Scheduled>, StoreError> {
        Ok(self.state().scheduled.get(&(user, id)).cloned())
    }

    async fn due_scheduled(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(UserId, ScheduledId)>, StoreError> {
        let state = self.state();
        let is_due = |scheduled: &&Scheduled| scheduled.due_at().is_some_and(|at| at <= now);
        let mut due: Vec<&Scheduled> = state.scheduled.values().filter(is_due).collect();
        due.sort_by_key(|scheduled| scheduled.send_at);
        Ok(due.into_iter().map(|scheduled| (scheduled.user_id, scheduled.id)).take(limit).collect())
    }
}

impl State {
    pub(super) fn hidden_in(&self, user: UserId, conversation: ConversationId) -> impl Iterator<Item = Seq> {
        let hidden = self.hidden.iter().filter(move |(by, id, _)| *by == user && *id == conversation);
        hidden.map(|(_, _, seq)| *seq)
    }

    pub(super) fn scheduled_of(&self, user: UserId) -> impl Iterator<Item = &Scheduled> {
        self.scheduled.values().filter(move |scheduled| scheduled.user_id == user)
    }
}
