//! Due items of one test. A store returns all due items, and tests share stores, so each test filters its own.

use godwit_domain::ports::{DueExpiry, Store, StoreError};
use godwit_protocol::{ConversationId, ScheduledId, Timestamp, UserId};

/// More than all tests on one store leave behind.
const DUE_MAX: usize = 100_000;

/// The expired messages of these conversations, the longest overdue first, equal times in the order of the log.
pub async fn due_expiries_in(
    store: &dyn Store,
    now: Timestamp,
    conversations: &[ConversationId],
) -> Result<Vec<DueExpiry>, StoreError> {
    let mut due = store.due_expiries(now, DUE_MAX).await?;
    due.retain(|expiry| conversations.contains(&expiry.conversation));
    assert!(due.is_sorted_by_key(|expiry| expiry.at), "the longest due is first: {due:?}");
    due.sort_by_key(|expiry| (expiry.at, expiry.conversation, expiry.seq));
    Ok(due)
}

/// The due scheduled messages of these users, the longest overdue first, equal times by id.
pub async fn due_scheduled_of(
    store: &dyn Store,
    now: Timestamp,
    users: &[UserId],
) -> Result<Vec<(UserId, ScheduledId)>, StoreError> {
    let mut due = Vec::new();
    for (user, id) in store.due_scheduled(now, DUE_MAX).await? {
        if users.contains(&user) {
            let scheduled = store.scheduled_one(user, id).await?;
            due.push((scheduled.map(|scheduled| scheduled.send_at), user, id));
        }
    }
    assert!(due.is_sorted_by_key(|(send_at, ..)| *send_at), "the longest due is first: {due:?}");
    due.sort_unstable();
    Ok(due.into_iter().map(|(_, user, id)| (user, id)).collect())
}
