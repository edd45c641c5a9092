//! Inboxes and account logs.

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, PinChange, Settings, SettingsChange};
use godwit_domain::ports::{
    ActivityPosition, ChangeSettings, ChangedRow, ConversationStore, InboxRow, InboxStore, StoreError,
    UnorderedRow,
};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::{Fault, Faulty, lock, port};

port! { impl InboxStore {
    async fn inbox(&self, user: UserId, archived: bool, after: Option<ActivityPosition>, limit: usize) -> Vec<InboxRow> {
        let loses_one = self.has(Fault::InboxLosesARowBetweenPages) && after.is_some();
        let mut rows = self.right.inbox(user, archived, after, limit + usize::from(loses_one)).await?;
        if loses_one && !rows.is_empty() {
            rows.remove(0);
        }
        if self.has(Fault::InboxListsPinnedConversations) && after.is_none() {
            rows.extend(self.right.pinned(user).await?);
        }
        for row in &mut rows {
            let old_place = lock(&self.old_places).get(&(user, row.conversation)).copied();
            row.activity_at = old_place.unwrap_or(row.activity_at);
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.activity()));
        Ok(rows)
    }
    async fn pinned(&self, user: UserId) -> Vec<InboxRow>;
    async fn fanned_out_on_read(&self, user: UserId) -> Vec<UnorderedRow>;
    async fn changed_since(&self, user: UserId, floor: Timestamp, after: Option<ActivityPosition>, limit: usize) -> Vec<ChangedRow> {
        let skips = self.has(Fault::ChangedSinceSkipsTheFloor);
        let floor = if skips { floor.plus_millis(1) } else { floor };
        let mut rows = self.right.changed_since(user, floor, after, limit).await?;
        if self.has(Fault::MovedCursorsAreNotListed) {
            let told = lock(&self.told).clone();
            rows.retain(|row| told.get(&row.conversation).is_none_or(|told| *told != row.changed_at));
        }
        if self.has(Fault::ChangesRepeatOnTheNextPage) && let Some(after) = after {
            let again = self.right.changed_since(user, floor, None, 50).await?;
            rows.extend(again.into_iter().filter(|row| row.position() == after));
            rows.sort_by_key(|row| std::cmp::Reverse(row.position()));
        }
        Ok(rows)
    }
    async fn settings(&self, user: UserId, conversation: ConversationId) -> Settings;
    async fn change_settings(&self, user: UserId, conversation: ConversationId, change: SettingsChange, note: AccountNote) -> ChangeSettings {
        let replacement = SettingsChange {
            pin: change.pin.or(Some(PinChange::Remove)),
            archived: change.archived.or(Some(false)),
            muted_until: change.muted_until.or(Some(None)),
            marked_unread: change.marked_unread.or(Some(false)),
            draft: change.draft.clone().or(Some(None)),
        };
        let change = if self.has(Fault::SettingsAreReplaced) { replacement } else { change };
        self.right.change_settings(user, conversation, change, note).await
    }
    async fn clear(&self, user: UserId, conversation: ConversationId, cleared: Seq, ordinal: u64, note: AccountNote) -> AccountEntry {
        let mut cleared = cleared;
        if self.has(Fault::ClearingHidesLaterMessages) {
            cleared = self.right.load(conversation).await?.map_or(cleared, |state| state.head.seq);
        }
        self.right.clear(user, conversation, cleared, ordinal, note).await
    }
    async fn account_log(&self, user: UserId, after: u64, limit: usize) -> Option<Vec<AccountEntry>> {
        let mut page = self.right.account_log(user, after, limit).await?;
        if let Some(page) = &mut page && self.has(Fault::AccountLogLosesAnEntry) && after > 0 && !page.is_empty() {
            page.remove(0);
        }
        Ok(if self.has(Fault::AccountLogHidesTruncation) { page.or(Some(Vec::new())) } else { page })
    }
    async fn account_head(&self, user: UserId) -> u64;
}}
