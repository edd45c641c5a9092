use std::cmp::Reverse;

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Settings, SettingsChange};
use godwit_domain::ports::{ActivityPosition, InboxPosition, InboxRow, InboxStore, StoreError};
use godwit_protocol::{ConversationId, Timestamp, UserId};

use super::{AccountLog, ModelStore, State};

#[async_trait]
impl InboxStore for ModelStore {
    async fn inbox(
        &self,
        user: UserId,
        archived: bool,
        after: Option<InboxPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError> {
        let order = |position: InboxPosition| (Reverse(position.pinned), Reverse(position.activity));
        let mut rows = self.state().rows(user);
        rows.retain(|row| row.settings.archived == archived);
        rows.retain(|row| after.is_none_or(|after| order(row.position()) > order(after)));
        rows.sort_by_key(|row| order(row.position()));
        rows.truncate(limit);
        Ok(rows)
    }

    async fn active_since(
        &self,
        user: UserId,
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError> {
        let mut rows = self.state().rows(user);
        rows.retain(|row| row.activity_at >= floor);
        rows.retain(|row| after.is_none_or(|after| row.activity() < after));
        rows.sort_by_key(|row| Reverse(row.activity()));
        rows.truncate(limit);
        Ok(rows)
    }

    async fn settings(&self, user: UserId, conversation: ConversationId) -> Result<Settings, StoreError> {
        Ok(self.state().settings_of(user, conversation))
    }

    async fn change_settings(
        &self,
        user: UserId,
        conversation: ConversationId,
        change: SettingsChange,
        note: AccountNote,
    ) -> Result<(Settings, AccountEntry), StoreError> {
        let mut state = self.state();
        let settings = state.settings_of(user, conversation).changed_by(change);
        state.settings.insert((user, conversation), settings);
        Ok((settings, state.write_note(note)))
    }

    async fn account_log(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> Result<Option<Vec<AccountEntry>>, StoreError> {
        let empty = AccountLog::default();
        Ok(self.state().account_logs.get(&user).unwrap_or(&empty).after(after, limit))
    }

    async fn account_head(&self, user: UserId) -> Result<u64, StoreError> {
        Ok(self.state().account_logs.get(&user).map_or(0, |log| log.head))
    }
}

impl State {
    /// The inbox of a user, in no order.
    fn rows(&self, user: UserId) -> Vec<InboxRow> {
        let listed = self.listed.iter().filter(|(by, _)| *by == user).map(|(_, id)| *id);
        let row = |id: ConversationId| InboxRow {
            conversation: id,
            settings: self.settings_of(user, id),
            activity_at: self.logs[&id].state.last_activity_at(),
        };
        listed.map(row).collect()
    }

    fn settings_of(&self, user: UserId, conversation: ConversationId) -> Settings {
        self.settings.get(&(user, conversation)).copied().unwrap_or_default()
    }
}
