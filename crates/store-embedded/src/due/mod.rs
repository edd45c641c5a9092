//! The indexes of due items: messages that disappear, and scheduled messages. Both are ordered by time, so a
//! search for due items reads the first rows.

use godwit_domain::ports::{DueExpiry, StoreError};
use godwit_protocol::{ScheduledId, Timestamp, UserId};

use crate::engine::Direction;
use crate::keys;
use crate::read::Read;
use crate::txn::Txn;

pub(crate) fn expiries(
    store: &impl Read,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<DueExpiry>, StoreError> {
    let rows = store.page(&keys::expiries_until(now), Direction::Forward, limit)?;
    rows.iter().map(|(key, _)| keys::decode_expiry(key)).collect()
}

pub(crate) fn forget_expiries(txn: &mut Txn<'_>, done: &[DueExpiry]) {
    for expiry in done {
        txn.remove(keys::expiry(*expiry));
    }
}

pub(crate) fn scheduled(
    store: &impl Read,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<(UserId, ScheduledId)>, StoreError> {
    let rows = store.page(&keys::due_until(now), Direction::Forward, limit)?;
    rows.iter().map(|(key, _)| keys::decode_due(key)).collect()
}
