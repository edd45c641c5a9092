//! Scheduled messages.

use godwit_domain::model::Scheduled;
use godwit_domain::ports::StoreError;
use godwit_protocol::{ScheduledId, UserId};

use crate::engine::Row;
use crate::keys;
use crate::read::Read;
use crate::records::{Record, ScheduledRecord, present};
use crate::txn::Txn;

/// Writes a scheduled message, and its row in the index of due messages if it has a time.
pub(crate) fn put(txn: &mut Txn<'_>, before: Option<&Scheduled>, after: &Scheduled) {
    if let Some(before) = before {
        remove(txn, before);
    }
    let (user, id) = (after.user_id, after.id);
    if let Some(at) = after.due_at() {
        txn.put(keys::due(at, user, id), present());
    }
    txn.put_record(keys::scheduled(user, id), &ScheduledRecord::from(after));
}

pub(crate) fn remove(txn: &mut Txn<'_>, before: &Scheduled) {
    let (user, id) = (before.user_id, before.id);
    txn.remove(keys::scheduled(user, id));
    if let Some(at) = before.due_at() {
        txn.remove(keys::due(at, user, id));
    }
}

pub(crate) fn all(store: &impl Read, user: UserId) -> Result<Vec<Scheduled>, StoreError> {
    let scheduled = |(key, value): &Row| {
        let id = ScheduledId::new(keys::last_id(ScheduledRecord::TABLE, key)?);
        Ok(ScheduledRecord::decode(key, value)?.into_scheduled(user, id))
    };
    store.all(&keys::scheduled_of(user))?.iter().map(scheduled).collect()
}

pub(crate) fn one(store: &impl Read, user: UserId, id: ScheduledId) -> Result<Option<Scheduled>, StoreError> {
    let key = keys::scheduled(user, id);
    let Some(row) = store.bytes(&key)? else { return Ok(None) };
    Ok(Some(ScheduledRecord::decode(&key.bytes, &row)?.into_scheduled(user, id)))
}
