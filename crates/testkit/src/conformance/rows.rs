//! Helpers of the cases about inboxes.

use godwit_domain::model::{AccountChange, AccountEntry, PinChange, Settings, SettingsChange};
use godwit_domain::ports::{ChangeSettings, ChangedRow, InboxRow, StoreError};
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::Outcome;
use crate::paging::{account_log_after, all_pages};
use crate::scene::Scene;

/// A conversation with a new user.
pub(super) async fn open(s: &Scene, user: UserId) -> Result<ConversationId, StoreError> {
    s.open_direct(user, s.new_user().id).await
}

pub(super) fn unchanged() -> SettingsChange {
    SettingsChange::default()
}

pub(super) async fn set(
    s: &Scene,
    user: UserId,
    id: ConversationId,
    change: SettingsChange,
) -> Result<(Settings, AccountEntry), StoreError> {
    let note = s.note(user, AccountChange::SettingsChanged(id));
    match s.store().change_settings(user, id, change, note).await? {
        ChangeSettings::Changed(settings, entry) => Ok((settings, entry)),
        ChangeSettings::TooManyPinned => panic!("the bound applies to new pins only"),
    }
}

pub(super) async fn pin(s: &Scene, user: UserId, id: ConversationId, place: i64) -> Outcome {
    set(s, user, id, SettingsChange { pin: Some(PinChange::Put(place)), ..unchanged() }).await.map(drop)
}

pub(super) async fn unpin(s: &Scene, user: UserId, id: ConversationId) -> Outcome {
    set(s, user, id, SettingsChange { pin: Some(PinChange::Remove), ..unchanged() }).await.map(drop)
}

pub(super) async fn archive(s: &Scene, user: UserId, id: ConversationId, archived: bool) -> Outcome {
    set(s, user, id, SettingsChange { archived: Some(archived), ..unchanged() }).await.map(drop)
}

/// Clears a conversation up to its head, and so removes it from the inbox.
pub(super) async fn clear(s: &Scene, user: UserId, id: ConversationId) -> Result<Seq, StoreError> {
    let head = s.load(id).await?.head.seq;
    let note = s.note(user, AccountChange::ConversationGone(id, GoneReason::Deleted));
    let entry = s.store().clear(user, id, head, 1, note).await?;
    assert_eq!((entry.at, entry.change), (note.at, note.change));
    Ok(head)
}

/// The first page, which is large enough for most cases.
pub(super) async fn rows(s: &Scene, user: UserId) -> Result<Vec<InboxRow>, StoreError> {
    s.store().inbox(user, false, None, 50).await
}

pub(super) async fn listed(s: &Scene, user: UserId) -> Result<Vec<ConversationId>, StoreError> {
    Ok(rows(s, user).await?.into_iter().map(|row| row.conversation).collect())
}

pub(super) async fn archived(s: &Scene, user: UserId) -> Result<Vec<ConversationId>, StoreError> {
    let rows = s.store().inbox(user, true, None, 50).await?;
    Ok(rows.into_iter().map(|row| row.conversation).collect())
}

/// Sorted by id, because stores return them in any order.
pub(super) async fn pinned(s: &Scene, user: UserId) -> Result<Vec<InboxRow>, StoreError> {
    let mut rows = s.store().pinned(user).await?;
    rows.sort_by_key(|row| row.conversation);
    Ok(rows)
}

/// Conversations with a change since a time, as rows with the time of the change.
pub(super) async fn changed(s: &Scene, user: UserId, floor: Timestamp) -> Result<Vec<InboxRow>, StoreError> {
    let rows = s.store().changed_since(user, floor, None, 200).await?;
    let row = |ChangedRow { conversation, settings, changed_at }| InboxRow {
        conversation,
        settings,
        activity_at: changed_at,
    };
    Ok(rows.into_iter().map(row).collect())
}

/// Conversations that are fanned out on read, sorted by id, with their settings.
pub(super) async fn large(s: &Scene, user: UserId) -> Result<Vec<(ConversationId, Settings)>, StoreError> {
    let mut rows = s.store().fanned_out_on_read(user).await?;
    rows.sort_by_key(|row| row.conversation);
    Ok(rows.into_iter().map(|row| (row.conversation, row.settings)).collect())
}

pub(super) async fn pages(
    s: &Scene,
    user: UserId,
    archived: bool,
    limit: usize,
) -> Result<Vec<InboxRow>, StoreError> {
    all_pages(limit, InboxRow::activity, |after| s.store().inbox(user, archived, after, limit)).await
}

/// The last note about the listing of a conversation: that it is listed, or why it is gone.
pub(super) async fn last_listing(
    s: &Scene,
    user: UserId,
    id: ConversationId,
) -> Result<Option<AccountChange>, StoreError> {
    let log = account_log_after(s.store(), user, 0, 500).await?.expect("the log is short");
    let about_it = |change: &AccountChange| matches!(change, AccountChange::ConversationListed(of) | AccountChange::ConversationGone(of, _) if *of == id);
    Ok(log.into_iter().map(|entry| entry.change).find(about_it))
}
