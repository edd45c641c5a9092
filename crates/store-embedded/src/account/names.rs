//! Unique names: handles, also those given up recently, and subjects.

use godwit_domain::account::Name;
use godwit_domain::model::User;
use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;

use super::users::user;
use crate::keys::{self, Key};
use crate::read::Read;
use crate::records::OwnerRecord;
use crate::txn::Txn;

/// The user who owns the handle or subject with this key.
pub(crate) fn owner(store: &impl Read, key: &Key) -> Result<Option<User>, StoreError> {
    match store.record(key)? {
        Some(OwnerRecord(id)) => user(store, id),
        None => Ok(None),
    }
}

/// The key of a name.
pub(crate) fn key(name: &Name) -> Key {
    match name {
        Name::Handle(handle) => keys::handle(handle),
        Name::Subject(subject) => keys::subject(subject),
    }
}

pub(crate) fn take(txn: &mut Txn<'_>, user: UserId, name: &Name) {
    txn.put_record(key(name), &OwnerRecord(user));
}

pub(crate) fn release(txn: &mut Txn<'_>, user: UserId, name: &Name) -> Result<(), StoreError> {
    let key = key(name);
    if matches!(txn.record(&key)?, Some(OwnerRecord(owner)) if owner == user) {
        txn.remove(key);
    }
    Ok(())
}
