//! The inbox: a user's list of conversations, and the account log.

use async_trait::async_trait;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::{AccountStore, StoreError};
use crate::account::{AccountCommand, ChangeSettings};
use crate::model::{AccountEntry, AccountNote, Settings, SettingsChange};

/// A row holds a conversation and its position. The conversation provides everything else that the inbox shows, so the inbox
/// is never stale. The cost of a page depends only on its size, not on the number of the user's conversations or messages.
#[async_trait]
pub trait InboxStore: AccountStore {
    /// One page of the conversations that are fanned out on write, listed and not pinned: the latest activity first, equal
    /// times by descending id, starting after `after`, which need not be a row any more. Archived conversations form a
    /// separate list.
    ///
    /// A conversation that does not change between the reads of the pages is on exactly one page. A conversation with new
    /// activity moves to the top, so later pages may miss it.
    async fn inbox(
        &self,
        user: UserId,
        archived: bool,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError>;

    /// The pinned conversations that are fanned out on write and listed, in any order. There are few: pinning is bounded.
    async fn pinned(&self, user: UserId) -> Result<Vec<InboxRow>, StoreError>;

    /// The conversations of the user that are fanned out on read, in any order, including pinned, archived and cleared ones.
    /// There are at most `LARGE_CONVERSATIONS_PER_USER_MAX`, plus a few if several passed the limit at the same time.
    async fn fanned_out_on_read(&self, user: UserId) -> Result<Vec<UnorderedRow>, StoreError>;

    /// The order of change: conversations that are fanned out on write and listed, including archived and pinned ones, with
    /// a change at or after `floor`; the latest change first, equal times by descending id, starting after `after`. Each
    /// conversation appears once, at the later of its activity and its last other change; [`Effects::touch`] and
    /// [`move_cursors`] report these other changes. The time of a change is that of [`change_time`]: never before the
    /// change, and less than [`CHANGE_GRAIN_MS`] after it, so that frequent changes cost a store few writes.
    ///
    /// A conversation that does not change between the reads of the pages is on exactly one page.
    ///
    /// [`Effects::touch`]: crate::projection::Effects::touch
    /// [`move_cursors`]: super::ConversationStore::move_cursors
    async fn changed_since(
        &self,
        user: UserId,
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<ChangedRow>, StoreError>;

    /// A member's settings for a conversation. The defaults if the member has never changed them.
    async fn settings(&self, user: UserId, conversation: ConversationId) -> Result<Settings, StoreError>;

    /// Changes the settings atomically, with the note, and returns the new ones. Concurrent changes of different settings
    /// are all kept, and of concurrent pins only as many succeed as can be pinned. Does not list the conversation; its row
    /// has the settings once it is listed. Idempotent, except that the note is written each time.
    async fn change_settings(
        &self,
        user: UserId,
        conversation: ConversationId,
        change: SettingsChange,
        note: AccountNote,
    ) -> Result<ChangeSettings, StoreError> {
        let command = AccountCommand::ChangeSettings { conversation, change: Box::new(change), note };
        Ok(self.change_account(user, command).await?.into())
    }

    /// Removes a conversation from the inbox until a new entry is shown in it, and conceals everything before:
    /// [`Settings::cleared`] and [`Member::concealed`] move forward to `cleared`, and [`Member::unlisted`] is set. `ordinal`
    /// is the number of messages in the log up to `cleared`. If the conversation has had activity after `cleared`, it stays
    /// in the inbox. Writes the note. Idempotent.
    ///
    /// [`Member::concealed`]: crate::model::Member::concealed
    /// [`Member::unlisted`]: crate::model::Member::unlisted
    async fn clear(
        &self,
        user: UserId,
        conversation: ConversationId,
        cleared: Seq,
        ordinal: u64,
        note: AccountNote,
    ) -> Result<AccountEntry, StoreError>;

    /// Entries of the account log after `after` in order, at most `limit`. `None` if the log has dropped entries after
    /// `after` because it was full (`ACCOUNT_LOG_ENTRIES_MAX`), or if `after` is past its end.
    ///
    /// Entries become visible in the order of their `seq`: a reader who has seen one never finds an earlier one later.
    async fn account_log(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> Result<Option<Vec<AccountEntry>>, StoreError>;

    /// The `seq` of the newest entry of the account log; 0 if it has none.
    async fn account_head(&self, user: UserId) -> Result<u64, StoreError>;
}

/// The last row of a page that is ordered by activity. The latest position is the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActivityPosition {
    pub at: Timestamp,
    pub conversation: ConversationId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    pub conversation: ConversationId,
    pub settings: Settings,
    /// When the newest message was sent or, if there is none, the conversation was created.
    pub activity_at: Timestamp,
}

impl ActivityPosition {
    /// The position before all rows.
    pub const LATEST: Self =
        Self { at: Timestamp::from_millis(i64::MAX), conversation: ConversationId::new(u64::MAX) };
}

/// A row of the order of change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedRow {
    pub conversation: ConversationId,
    pub settings: Settings,
    pub changed_at: Timestamp,
}

/// A row without a stored position: its activity is that of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnorderedRow {
    pub conversation: ConversationId,
    pub settings: Settings,
}

/// The resolution, in milliseconds, of the order of change for changes that are not activity.
pub const CHANGE_GRAIN_MS: i64 = 60_000;

/// The position that a change at this time has in the order of change.
pub const fn change_time(at: Timestamp) -> Timestamp {
    let ms = at.as_millis() + CHANGE_GRAIN_MS - 1;
    Timestamp::from_millis(ms - ms % CHANGE_GRAIN_MS)
}

impl ChangedRow {
    pub const fn position(&self) -> ActivityPosition {
        ActivityPosition { at: self.changed_at, conversation: self.conversation }
    }
}

impl InboxRow {
    pub const fn activity(&self) -> ActivityPosition {
        ActivityPosition { at: self.activity_at, conversation: self.conversation }
    }
}
