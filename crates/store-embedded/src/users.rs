//! Users, their unique names, and the index of their search words.

use std::collections::BTreeSet;

use async_trait::async_trait;
use godwit_domain::model::{AccountNote, Handle, SearchPrefix, Subject, User};
use godwit_domain::ports::{CreateUser, StoreError, UpdateUser, UserChange, UserStore};
use godwit_protocol::limits::HANDLE_CHARS_MAX;
use godwit_protocol::{Timestamp, UserId};

use crate::engine::{Direction, Row};
use crate::keys::{self, Key};
use crate::read::Read;
use crate::records::{OwnerRecord, Record, UserRecord, present};
use crate::txn::Txn;
use crate::{EmbeddedStore, account_log};

/// Beginnings of words in the index, in characters: as long as a handle can be, so that the whole of it is found.
const PREFIX_CHARS_MAX: usize = HANDLE_CHARS_MAX;

#[async_trait]
impl UserStore for EmbeddedStore {
    async fn create_user(&self, user: User) -> Result<CreateUser, StoreError> {
        self.write("create a user", move |txn| create(txn, &user)).await
    }

    async fn user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        user(&self.engine.view(), id)
    }

    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>, StoreError> {
        let view = self.engine.view();
        let ids: BTreeSet<UserId> = ids.iter().copied().collect();
        ids.into_iter().filter_map(|id| user(&view, id).transpose()).collect()
    }

    async fn disabled_among(&self, ids: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let view = self.engine.view();
        let is_disabled = |id| with_record(&view, id, |record| record.disabled_at.is_some());
        let found = ids.iter().map(|id| Ok(is_disabled(*id)?.unwrap_or(false).then_some(*id)));
        found.filter_map(Result::transpose).collect()
    }

    async fn user_by_handle(&self, handle: &Handle) -> Result<Option<User>, StoreError> {
        // They may have given it up.
        let owner = owner(&self.engine.view(), &keys::handle(handle))?;
        Ok(owner.filter(|user| user.handle == *handle))
    }

    async fn user_by_subject(&self, subject: &Subject) -> Result<Option<User>, StoreError> {
        owner(&self.engine.view(), &keys::subject(subject))
    }

    async fn update_user(
        &self,
        id: UserId,
        change: UserChange,
        note: Option<AccountNote>,
    ) -> Result<UpdateUser, StoreError> {
        self.write("update a user", move |txn| update(txn, id, change, note)).await
    }

    async fn search_users(
        &self,
        prefix: &SearchPrefix,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<User>, StoreError> {
        search(&self.engine.view(), prefix, after, limit)
    }

    async fn list_users(&self, after: Option<UserId>, limit: usize) -> Result<Vec<User>, StoreError> {
        let rows = self.engine.view().page(&keys::users_after(after), Direction::Forward, limit)?;
        rows.iter().map(decode).collect()
    }
}

fn decode((key, value): &Row) -> Result<User, StoreError> {
    let id = UserId::new(keys::last_id(UserRecord::TABLE, key)?);
    Ok(UserRecord::decode(key, value)?.into_user(id))
}

/// What is wanted of a user's record, without a copy of the rest.
fn with_record<T>(
    store: &impl Read,
    id: UserId,
    wanted: impl FnOnce(UserRecord<'_>) -> T,
) -> Result<Option<T>, StoreError> {
    let key = keys::user(id);
    store.bytes(&key)?.map(|bytes| UserRecord::decode(&key.bytes, &bytes).map(wanted)).transpose()
}

fn user(store: &impl Read, id: UserId) -> Result<Option<User>, StoreError> {
    with_record(store, id, |record| record.into_user(id))
}

/// The user whose handle or subject is at this key.
fn owner(store: &impl Read, key: &Key) -> Result<Option<User>, StoreError> {
    match store.record(key)? {
        Some(OwnerRecord(id)) => user(store, id),
        None => Ok(None),
    }
}

fn create(txn: &mut Txn<'_>, user: &User) -> Result<CreateUser, StoreError> {
    // The subject first: when two requests make the same user of the application, the second wants to hear of the first,
    // and not that the handle is taken.
    if let Some(subject) = &user.subject
        && let Some(first) = owner(txn, &keys::subject(subject))?
    {
        return Ok(CreateUser::SubjectTaken(first));
    }
    if is_held(txn, &user.handle, Some(user.created_at), user.id)? {
        return Ok(CreateUser::HandleTaken);
    }
    if let Some(subject) = &user.subject {
        txn.put_record(keys::subject(subject), &OwnerRecord(user.id));
    }
    txn.put_record(keys::handle(&user.handle), &OwnerRecord(user.id));
    txn.put_record(keys::user(user.id), &UserRecord::from(user));
    for prefix in indexed_prefixes(user) {
        txn.put(keys::prefix(&prefix, user.id), present());
    }
    Ok(CreateUser::Created)
}

fn update(
    txn: &mut Txn<'_>,
    id: UserId,
    change: UserChange,
    note: Option<AccountNote>,
) -> Result<UpdateUser, StoreError> {
    let Some(before) = user(txn, id)? else { return Ok(UpdateUser::NotFound) };
    let (mut after, at) = (before.clone(), change.renamed_at);
    change.apply(&mut after);
    if after.handle != before.handle && is_held(txn, &after.handle, at, id)? {
        return Ok(UpdateUser::HandleTaken);
    }
    for handle in names(&before).filter(|handle| !names(&after).any(|kept| kept == *handle)) {
        // Somebody else may have it since it was no longer kept.
        if matches!(txn.record(&keys::handle(handle))?, Some(OwnerRecord(owner)) if owner == id) {
            txn.remove(keys::handle(handle));
        }
    }
    if after.handle != before.handle {
        txn.put_record(keys::handle(&after.handle), &OwnerRecord(id));
    }
    txn.put_record(keys::user(id), &UserRecord::from(&after));
    let (old, new) = (indexed_prefixes(&before), indexed_prefixes(&after));
    for prefix in old.difference(&new) {
        txn.remove(keys::prefix(prefix, id));
    }
    for prefix in new.difference(&old) {
        txn.put(keys::prefix(prefix, id), present());
    }
    let entry = note.map(|note| account_log::note(txn, note)).transpose()?;
    Ok(UpdateUser::Updated(after, entry))
}

/// The handles that lead to a user: theirs, and those that they have given up.
fn names(user: &User) -> impl Iterator<Item = &Handle> {
    [&user.handle].into_iter().chain(user.former_handles.iter().map(|former| &former.handle))
}

/// Whether somebody other than `id` holds a handle.
fn is_held(
    store: &impl Read,
    handle: &Handle,
    at: Option<Timestamp>,
    id: UserId,
) -> Result<bool, StoreError> {
    let owner = owner(store, &keys::handle(handle))?;
    Ok(owner.is_some_and(|owner| owner.id != id && owner.holds(handle, at)))
}

/// The beginnings by which a user is found. There is a row for each, so that a search is a scan of one range: in the order of
/// ids, everybody once, however many words begin alike. Disabled users have none, so that no search steps over them.
fn indexed_prefixes(user: &User) -> BTreeSet<String> {
    let words = if user.disabled_at.is_some() { Vec::new() } else { user.search_words() };
    words.iter().flat_map(|word| prefixes(word)).map(str::to_owned).collect()
}

fn prefixes(word: &str) -> impl Iterator<Item = &str> {
    word.char_indices().take(PREFIX_CHARS_MAX).map(|(start, char)| &word[..start + char.len_utf8()])
}

/// A longer beginning than those in the index is searched among the users who share the longest that is.
fn search(
    store: &impl Read,
    prefix: &str,
    mut after: Option<UserId>,
    limit: usize,
) -> Result<Vec<User>, StoreError> {
    let Some(indexed) = prefixes(prefix).last() else { return Ok(Vec::new()) };
    let is_found = |user: &User| user.search_words().iter().any(|word| word.starts_with(prefix));
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
