//! Messages that disappear.
//!
//! Each disappears once: the row that says so is removed with a higher version than it was written with, so a
//! repeated projection does not bring it back.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::ports::{DueExpiry, StoreError};
use godwit_domain::projection::Expiry;
use godwit_protocol::{ConversationId, Seq, Timestamp};

use crate::due::{Due, DueItem, DueKind};

const IS_DUE: u64 = 1;
const IS_DONE: u64 = 2;
/// Expiries removed concurrently.
const WRITES_AT_ONCE_MAX: usize = 64;

pub(super) async fn put(due: &Due, id: ConversationId, expiry: Expiry) -> Result<(), StoreError> {
    let item = item(DueExpiry { at: expiry.at, conversation: id, seq: expiry.seq });
    due.put(DueKind::Expiry, item, IS_DUE).await
}

pub(crate) async fn due(due: &Due, now: Timestamp, limit: usize) -> Result<Vec<DueExpiry>, StoreError> {
    let items = due.due(DueKind::Expiry, now, limit).await?;
    let expiry = |item: DueItem| DueExpiry {
        at: item.at,
        conversation: ConversationId::new(item.owner),
        seq: Seq::new(item.item),
    };
    Ok(items.into_iter().map(expiry).collect())
}

pub(crate) async fn forget(due: &Due, done: Vec<DueExpiry>) -> Result<(), StoreError> {
    let writes = done.into_iter().map(|expiry| due.remove(DueKind::Expiry, item(expiry), IS_DONE));
    stream::iter(writes).buffer_unordered(WRITES_AT_ONCE_MAX).try_collect().await
}

const fn item(expiry: DueExpiry) -> DueItem {
    DueItem { at: expiry.at, owner: expiry.conversation.get(), item: expiry.seq.get() }
}
