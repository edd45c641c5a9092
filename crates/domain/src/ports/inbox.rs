//! The inbox: a user's list of conversations, and the account log.

use async_trait::async_trait;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::StoreError;
use crate::model::{AccountEntry, AccountNote, Settings, SettingsChange};

/// Rows say which conversations and in what order; what a row shows is taken from the conversation, so it is never
/// stale. The cost of a page depends on its size alone: not on how many conversations a user has, nor on how many
/// messages were sent in them.
#[async_trait]
pub trait InboxStore: Send + Sync {
    /// One page of the conversations that are fanned out on write, listed and not pinned: the latest activity first, equal
    /// times by the higher id first; those after `after`, which need not be a row any more. Archived conversations are a
    /// list of their own.
    ///
    /// A conversation that does not change while somebody goes from page to page is on exactly one page; one with new
    /// activity is at the top again and may be missed further down.
    async fn inbox(
        &self,
        user: UserId,
        archived: bool,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError>;

    /// The pinned conversations that are fanned out on write and listed, in any order. There are no more than
    /// `PINNED_CONVERSATIONS_MAX`.
    async fn pinned(&self, user: UserId) -> Result<Vec<InboxRow>, StoreError>;

    /// The conversations of the user that are fanned out on read, in any order, pinned and archived ones included, also
    /// those that were cleared. There are no more than `LARGE_CONVERSATIONS_PER_USER_MAX`, and a few that came over the
    /// limit together.
    async fn fanned_out_on_read(&self, user: UserId) -> Result<Vec<UnorderedRow>, StoreError>;

    /// The order of change: conversations that are fanned out on write and listed, archived and pinned ones included, in
    /// which anything changed at or after `floor`; the latest first, equal times by the higher id first; those after
    /// `after`. Each is there once, at the later of its activity and of its last other change, which is what
    /// [`Effects::touch`] and [`move_cursors`] tell of. The time of a change is that of [`change_time`]: never before it, and
    /// less than [`CHANGE_GRAIN_MS`] after it, so that a store has little to write where much changes.
    ///
    /// One that does not change while somebody goes from page to page is on exactly one page.
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

    /// What the user has set for a conversation that they are a member of; the defaults if they never did.
    async fn settings(&self, user: UserId, conversation: ConversationId) -> Result<Settings, StoreError>;

    /// Changes the settings atomically, with the note, and gives them back as they are now. Concurrent changes of
    /// different settings all stay. Does not list the conversation; its row has them once it is listed. Idempotent (the
    /// note is written each time).
    async fn change_settings(
        &self,
        user: UserId,
        conversation: ConversationId,
        change: SettingsChange,
        note: AccountNote,
    ) -> Result<(Settings, AccountEntry), StoreError>;

    /// Takes a conversation out of the inbox until something new is shown in it, and puts what was before out of the
    /// member's sight: [`Settings::cleared`] and [`Member::concealed`] move forward to `cleared`, and [`Member::unlisted`] is
    /// set. `ordinal` is how many messages the log has up to there. A member whose conversation has had activity after
    /// `cleared` keeps it in the inbox. Writes the note. Idempotent.
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

    /// Entries of the account log after `after` in order, at most `limit`. `None` when entries after `after` have been
    /// dropped for the length of the log (`ACCOUNT_LOG_ENTRIES_MAX`), or `after` is past its end.
    ///
    /// Entries appear in the order of their `seq`: whoever has read up to one never finds an earlier one later.
    async fn account_log(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> Result<Option<Vec<AccountEntry>>, StoreError>;

    /// The seq of the newest entry of the account log; 0 when it has none.
    async fn account_head(&self, user: UserId) -> Result<u64, StoreError>;
}

/// Where a page that is ordered by activity ends. The latest is the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActivityPosition {
    pub at: Timestamp,
    pub conversation: ConversationId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    pub conversation: ConversationId,
    pub settings: Settings,
    /// When the newest message was sent, or the conversation made.
    pub activity_at: Timestamp,
}

impl ActivityPosition {
    /// Before all others.
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

/// A row whose activity is that of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnorderedRow {
    pub conversation: ConversationId,
    pub settings: Settings,
}

/// How exact the order of change is about what is no activity.
pub const CHANGE_GRAIN_MS: i64 = 60_000;

/// Where a change at this time stands in the order of change.
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
