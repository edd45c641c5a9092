use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Concealed, Scheduled, ScheduledStage, Star};
use godwit_domain::ports::{Listed, PersonalStore, ReplaceScheduled, ScheduleOutcome, SeqRange, StoreError};
use godwit_protocol::{ConversationId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::{ModelStore, State};

#[async_trait]
impl PersonalStore for ModelStore {
    async fn hide(
        &self,
        user: UserId,
        conversation: ConversationId,
        seq: Seq,
        max: usize,
        note: AccountNote,
    ) -> Result<Listed, StoreError> {
        let mut state = self.state();
        let is_hidden = state.hidden.contains(&(user, conversation, seq));
        if !is_hidden && state.hidden_in(user, conversation).count() >= max {
            return Ok(Listed::Full);
        }
        state.hidden.insert((user, conversation, seq));
        state.conceal(user, conversation, Concealed { hidden_to: seq, ..Concealed::default() });
        Ok(Listed::Added(state.write_note(note)))
    }

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

    async fn star(
        &self,
        user: UserId,
        star: Star,
        max: usize,
        note: AccountNote,
    ) -> Result<Listed, StoreError> {
        let mut state = self.state();
        if state.stars.contains_key(&(user, star.message_id)) {
            return Ok(Listed::Unchanged);
        }
        if state.stars.keys().filter(|(by, _)| *by == user).count() >= max {
            return Ok(Listed::Full);
        }
        state.stars.insert((user, star.message_id), star);
        Ok(Listed::Added(state.write_note(note)))
    }

    async fn unstar(
        &self,
        user: UserId,
        message: MessageId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let mut state = self.state();
        let was_starred = state.stars.remove(&(user, message)).is_some();
        Ok(was_starred.then(|| state.write_note(note)))
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

    async fn schedule(
        &self,
        scheduled: Scheduled,
        max: usize,
        note: AccountNote,
    ) -> Result<ScheduleOutcome, StoreError> {
        let mut state = self.state();
        let is_same = |other: &&Scheduled| {
            other.conversation == scheduled.conversation && other.draft.client_id == scheduled.draft.client_id
        };
        if let Some(first) = state.scheduled_of(scheduled.user_id).find(is_same) {
            return Ok(ScheduleOutcome::Repeated(first.clone()));
        }
        if state.scheduled_of(scheduled.user_id).filter(|other| other.stage.is_listed()).count() >= max {
            return Ok(ScheduleOutcome::Full);
        }
        state.scheduled.insert((scheduled.user_id, scheduled.id), scheduled);
        Ok(ScheduleOutcome::Scheduled(state.write_note(note)))
    }

    async fn scheduled(&self, user: UserId) -> Result<Vec<Scheduled>, StoreError> {
        Ok(self.state().scheduled_of(user).cloned().collect())
    }

    async fn scheduled_one(&self, user: UserId, id: ScheduledId) -> Result<Option<Scheduled>, StoreError> {
        Ok(self.state().scheduled.get(&(user, id)).cloned())
    }

    async fn replace_scheduled(
        &self,
        expected: Scheduled,
        with: Option<Scheduled>,
        note: Option<AccountNote>,
    ) -> Result<ReplaceScheduled, StoreError> {
        self.meanwhile.happen().await;
        let mut state = self.state();
        let key = (expected.user_id, expected.id);
        match state.scheduled.get(&key) {
            None => return Ok(ReplaceScheduled::NotFound),
            Some(current) if *current != expected => return Ok(ReplaceScheduled::Changed),
            Some(_) => {}
        }
        match with {
            Some(with) => state.scheduled.insert(key, with),
            None => state.scheduled.remove(&key),
        };
        Ok(ReplaceScheduled::Replaced(note.map(|note| state.write_note(note))))
    }

    async fn due_scheduled(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(UserId, ScheduledId)>, StoreError> {
        let state = self.state();
        let is_due = |scheduled: &&Scheduled| {
            scheduled.send_at <= now && !matches!(scheduled.stage, ScheduledStage::Failed(_))
        };
        let mut due: Vec<&Scheduled> = state.scheduled.values().filter(is_due).collect();
        due.sort_by_key(|scheduled| scheduled.send_at);
        Ok(due.into_iter().map(|scheduled| (scheduled.user_id, scheduled.id)).take(limit).collect())
    }
}

impl State {
    fn hidden_in(&self, user: UserId, conversation: ConversationId) -> impl Iterator<Item = Seq> {
        let hidden = self.hidden.iter().filter(move |(by, id, _)| *by == user && *id == conversation);
        hidden.map(|(_, _, seq)| *seq)
    }

    fn scheduled_of(&self, user: UserId) -> impl Iterator<Item = &Scheduled> {
        self.scheduled.values().filter(move |scheduled| scheduled.user_id == user)
    }
}
