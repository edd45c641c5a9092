//! The account log: its entries, and the index of the newest entry per subject.

use godwit_domain::account::{self, LogHead, Noted};
use godwit_domain::model::{AccountEntry, AccountNote};
use godwit_domain::ports::{AccountLog, StoreError};
use godwit_protocol::UserId;

use super::change::Of;
use crate::engine::Direction;
use crate::keys::{self, Key};
use crate::read::Read;
use crate::records::{AccountEntryRecord, AccountHeadRecord, AccountSubjectRecord, Record};
use crate::txn::Txn;

/// Decides on a note and writes it in this transaction.
pub(crate) fn note(txn: &mut Txn<'_>, note: AccountNote) -> Result<AccountEntry, StoreError> {
    let user = note.user_id;
    let noted = account::note(&mut Of { store: txn, user }, &note)?;
    write(txn, user, &noted);
    Ok(noted.entry)
}

pub(super) fn write(txn: &mut Txn<'_>, user: UserId, noted: &Noted) {
    let Noted { entry, replaced, dropped, head } = noted;
    if let Some(dropped) = dropped {
        txn.remove(keys::account_subject(user, dropped.change.subject()));
    }
    for gone in replaced.iter().copied().chain(dropped.map(|dropped| dropped.seq)) {
        txn.remove(keys::account_entry(user, gone));
    }
    put(txn, user, entry);
    txn.put_record(keys::account_head(user), &AccountHeadRecord::from(head));
}

fn put(txn: &mut Txn<'_>, user: UserId, entry: &AccountEntry) {
    let subject = keys::account_subject(user, entry.change.subject());
    txn.put_record(subject, &AccountSubjectRecord(entry.seq));
    txn.put_record(keys::account_entry(user, entry.seq), &AccountEntryRecord::from(entry));
}

/// Entries after `after`. `None` when some of them were dropped, or `after` is in the future.
pub(crate) fn entries(
    store: &impl Read,
    user: UserId,
    after: u64,
    limit: usize,
) -> Result<Option<Vec<AccountEntry>>, StoreError> {
    if !head(store, user)?.is_complete_after(after) {
        return Ok(None);
    }
    let rows = store.page(&keys::account_entries_after(user, after), Direction::Forward, limit)?;
    rows.into_iter().map(|(key, value)| decode(&key, &value)).collect::<Result<_, _>>().map(Some)
}

pub(crate) fn head(store: &impl Read, user: UserId) -> Result<LogHead, StoreError> {
    let head: Option<AccountHeadRecord> = store.record(&keys::account_head(user))?;
    Ok(head.unwrap_or_default().into())
}

pub(super) fn oldest(store: &impl Read, user: UserId) -> Result<Option<AccountEntry>, StoreError> {
    let after_dropped = keys::account_entries_after(user, head(store, user)?.floor);
    let first = store.page(&after_dropped, Direction::Forward, 1)?;
    first.first().map(|(key, value)| decode(key, value)).transpose()
}

/// The whole log.
pub(crate) fn whole(store: &impl Read, user: UserId) -> Result<AccountLog, StoreError> {
    let LogHead { last, floor, .. } = head(store, user)?;
    let rows = store.all(&keys::account_entries_after(user, 0))?;
    let entries = rows.iter().map(|(key, value)| decode(key, value)).collect::<Result<_, _>>()?;
    Ok(AccountLog { last, floor, entries })
}

/// Replaces the whole log.
pub(crate) fn replace(txn: &mut Txn<'_>, user: UserId, log: &AccountLog) -> Result<(), StoreError> {
    for range in [keys::account_entries_after(user, 0), keys::account_subjects(user)] {
        for (bytes, _) in txn.all(&range)? {
            txn.remove(Key { table: range.table, bytes });
        }
    }
    for entry in &log.entries {
        put(txn, user, entry);
    }
    let count = log.entries.len() as u64;
    let head = AccountHeadRecord { last: log.last, floor: log.floor, count };
    txn.put_record(keys::account_head(user), &head);
    Ok(())
}

fn decode(key: &[u8], value: &[u8]) -> Result<AccountEntry, StoreError> {
    let seq = keys::last_id(AccountEntryRecord::TABLE, key)?;
    Ok(AccountEntryRecord::decode(key, value)?.into_entry(seq))
}
