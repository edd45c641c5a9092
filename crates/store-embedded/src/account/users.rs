//! Users, their unique names, and the index of their search words.

use std::collections::BTreeSet;

use godwit_domain::account::Name;
use godwit_domain::model::User;
use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;
use godwit_protocol::limits::HANDLE_CHARS_MAX;

use crate::engine::{Direction, Row};
use crate::keys::{self, Key};
use crate::read::Read;
use crate::records::{OwnerRecord, Record, UserRecord, present};
use crate::txn::Txn;

/// Length of an indexed prefix, in characters: that of the longest handle, so that whole handles are indexed.
const PREFIX_CHARS_MAX: usize = HANDLE_CHARS_MAX;

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

/// The user who owns the handle or subject with this key.
pub(crate) fn owner(store: &impl Read, key: &Key) -> Result<Option<User>, StoreError> {
    match store.record(key)? {
        Some(OwnerRecord(id)) => user(store, id),
        None => Ok(None),
    }
}

pub(crate) fn put(txn: &mut Txn<'_>, before: Option<&User>, after: &User) {
    txn.put_record(keys::user(after.id), &UserRecord::from(after));
    let (old, new) = (before.map(indexed_prefixes).unwrap_or_default(), indexed_prefixes(after));
    for prefix in old.difference(&new) {
        txn.remove(keys::prefix(prefix, after.id));
    }
    for prefix in new.difference(&old) {
        txn.put(keys::prefix(prefix, after.id), present());
    }
}

/// The key of a name.
pub(crate) fn key(name: &Name) -> Key {
    match name {
        Name::Handle(handle) => keys::handle(handle),
        Name::Subject(subject) => keys::subject(subject),
    }
}

pub(crate) fn take_name(txn: &mut Txn<'_>, user: UserId, name: &Name) {
    txn.put_record(key(name), &OwnerRecord(user));
}

pub(crate) fn release_name(txn: &mut Txn<'_>, user: UserId, name: &Name) -> Result<(), StoreError> {
    let key = key(name);
    if matches!(txn.record(&key)?, Some(OwnerRecord(owner)) if owner == user) {
        txn.remove(key);
    }
    Ok(())
}

/// The prefixes by which a user is found. Each has a row, so a search scans one range: in the order of ids, and
/// with each user once, even if several of their words match. Disabled users have no rows, so no search has to
/// skip them.
fn indexed_prefixes(user: &User) -> BTreeSet<String> {
    user.words_in_search().iter().flat_map(|word| prefixes(word)).map(str::to_owned).collect()
}

fn prefixes(word: &str) -> impl Iterator<Item = &str> {
    word.char_indices().take(PREFIX_CHARS_MAX).map(|(start, char)| &word[..start + char.len_utf8()])
}

/// A prefix longer than the indexed ones is searched among the users who share its longest indexed prefix.
pub(crate) fn search(
    store: &impl Read,
    prefix: &str,
    mut after: Option<UserId>,
    limit: usize,
) -> Result<Vec<User>, StoreError> {
    let Some(indexed) = prefixes(prefix).last() else { return Ok(Vec::new()) };
    let is_found = |user: &User| user.is_in_search_for(prefix);
    let mut found = Vec::new();
    loop {
        let missing = limit - found.len();
        let page = store.page(&keys::prefix_after(indexed, after), Direction::Forward, missing)?;
        let is_last = page.len() < missing;
        for (key, _) in page {
            let id = UserId::new(keys::last_id("prefixes", &key)?);
            found.extend(user(store, id)?.filter(is_found));
            after = Some(id);
        }
        if is_last || found.len() == limit {
            return Ok(found);
        }
    }
}
