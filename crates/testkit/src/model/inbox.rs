use std::cmp::Reverse;

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Concealed, Settings, leaves_inbox};
use godwit_domain::ports::{ActivityPosition, ChangedRow, InboxRow, InboxStore, StoreError, UnorderedRow};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::{ModelStore, Read, State};

#[async_trait]
impl InboxStore for ModelStore {
    async fn inbox(
        &self,
        user: UserId,
        archived: bool,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError> {
        let mut rows = self.state().rows(user);
        rows.retain(|row| row.settings.pin.is_none() && row.settings.archived == archived);
        Ok(page(rows, after, limit, InboxRow::activity))
    }

    async fn pinned(&self, user: UserId) -> Result<Vec<InboxRow>, StoreError> {
        let mut rows = self.state().rows(user);
        rows.retain(|row| row.settings.pin.is_some());
        Ok(rows)
    }

    async fn fanned_out_on_read(&self, user: UserId) -> Result<Vec<UnorderedRow>, StoreError> {
        self.failures.strike(Read::FannedOutOnRead)?;
        let state = self.state();
        let large = state.large.iter().filter(|(by, _)| *by == user);
        let row = |&(_, conversation): &(UserId, ConversationId)| UnorderedRow {
            conversation,
            settings: state.settings_of(user, conversation),
        };
        Ok(large.map(row).collect())
    }

    async fn changed_since(
        &self,
        user: UserId,
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<ChangedRow>, StoreError> {
        let state = self.state();
        let row = |InboxRow { conversation, settings, activity_at }: InboxRow| ChangedRow {
            conversation,
            settings,
            changed_at: activity_at.max(state.logs[&conversation].changed_at),
        };
        let mut rows: Vec<ChangedRow> = state.rows(user).into_iter().map(row).collect();
        rows.retain(|row| row.changed_at >= floor);
        Ok(page(rows, after, limit, ChangedRow::position))
    }

    async fn settings(&self, user: UserId, conversation: ConversationId) -> Result<Settings, StoreError> {
        Ok(self.state().settings_of(user, conversation))
    }

    async fn clear(
        &self,
        user: UserId,
        conversation: ConversationId,
        cleared: Seq,
        ordinal: u64,
        note: AccountNote,
    ) -> Result<AccountEntry, StoreError> {
        let mut state = self.state();
        state.conceal(user, conversation, Concealed::clearing(cleared, ordinal));
        state.settings.entry((user, conversation)).or_default().clear(cleared);
        let log = state.logs.get_mut(&conversation);
        if let Some(log) = log.filter(|log| leaves_inbox(cleared, log.head.last_shown())) {
            if let Some(member) = log.members.get_mut(&user) {
                member.unlisted = true;
            }
            state.listed.remove(&(user, conversation));
        }
        Ok(state.write_note(note))
    }

    async fn account_log(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> Result<Option<Vec<AccountEntry>>, StoreError> {
        let state = self.state();
        let head = state.account_logs.get(&user).map(|log| log.head).unwrap_or_default();
        let newer = state.account_entries(user).iter().filter(|entry| entry.seq > after);
        Ok(head.is_complete_after(after).then(|| newer.take(limit).copied().collect()))
    }

    async fn account_head(&self, user: UserId) -> Result<u64, StoreError> {
        Ok(self.state().account_logs.get(&user).map_or(0, |log| log.head.last))
    }
}

impl State {
    /// The inbox of a user, unordered, without conversations that are fanned out on read.
    fn rows(&self, user: UserId) -> Vec<InboxRow> {
        let listed = self.listed.iter().filter(|(by, _)| *by == user).map(|(_, id)| *id);
        let row = |id: ConversationId| InboxRow {
            conversation: id,
            settings: self.settings_of(user, id),
            activity_at: self.logs[&id].activity_at(),
        };
        listed.map(row).collect()
    }

    pub(super) fn settings_of(&self, user: UserId, conversation: ConversationId) -> Settings {
        self.settings.get(&(user, conversation)).cloned().unwrap_or_default()
    }
}

/// A page, the latest rows first.
fn page<R>(
    mut rows: Vec<R>,
    after: Option<ActivityPosition>,
    limit: usize,
    position: impl Fn(&R) -> ActivityPosition,
) -> Vec<R> {
    rows.retain(|row| after.is_none_or(|after| position(row) < after));
    rows.sort_by_key(|row| Reverse(position(row)));
    rows.truncate(limit);
    rows
}
