//! Users.

use godwit_domain::model::User;
use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;

use super::people;
use crate::engine::Row;
use crate::keys;
use crate::read::Read;
use crate::records::{Record, UserRecord};
use crate::txn::Txn;

pub(crate) fn decode((key, value): &Row) -> Result<User, StoreError> {
    let id = UserId::new(keys::last_id(UserRecord::TABLE, key)?);
    Ok(UserRecord::decode(key, value)?.into_user(id))
}

/// Reads a part of a user's record without copying the rest.
pub(crate) fn with_record<T>(
    store: &impl Read,
    id: UserId,
    wanted: impl FnOnce(UserRecord<'_>) -> T,
) -> Result<Option<T>, StoreError> {
    let key = keys::user(id);
    store.bytes(&key)?.map(|bytes| UserRecord::decode(&key.bytes, &bytes).map(wanted)).transpose()
}

pub(crate) fn user(store: &impl Read, id: UserId) -> Result<Option<User>, StoreError> {
    with_record(store, id, |record| record.into_user(id))
}

pub(crate) fn put(txn: &mut Txn<'_>, before: Option<&User>, after: &User) {
    txn.put_record(keys::user(after.id), &UserRecord::from(after));
    people::index(txn, before, after);
}
