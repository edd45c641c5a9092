//! The account log: compacted per subject, and bounded.

use godwit_domain::model::{AccountEntry, AccountNote};
use godwit_domain::ports::{AccountLog, StoreError};
use godwit_protocol::UserId;
use godwit_protocol::limits::ACCOUNT_LOG_ENTRIES_MAX;

use crate::engine::Direction;
use crate::keys::{self, Key};
use crate::read::Read;
use crate::records::{AccountEntryRecord, AccountHeadRecord, AccountSubjectRecord, Record};
use crate::txn::Txn;

/// Writes an entry in place of the one about the same subject. The oldest one goes when the log is full.
pub(crate) fn note(txn: &mut Txn<'_>, note: AccountNote) -> Result<AccountEntry, StoreError> {
    let user = note.user_id;
    let mut head: AccountHeadRecord = txn.record(&keys::account_head(user))?.unwrap_or_default();
    head.last += 1;
    head.count += 1;
    let entry = AccountEntry { seq: head.last, at: note.at, change: note.change };
    let subject = keys::account_subject(user, note.change.subject());
    if let Some(AccountSubjectRecord(replaced)) = txn.record(&subject)? {
        txn.remove(keys::account_entry(user, replaced));
        head.count -= 1;
    }
    txn.put_record(subject, &AccountSubjectRecord(entry.seq));
    txn.put_record(keys::account_entry(user, entry.seq), &AccountEntryRecord::from(&entry));
    if head.count > ACCOUNT_LOG_ENTRIES_MAX as u64 {
        drop_oldest(txn, user, &mut head)?;
    }
    txn.put_record(keys::account_head(user), &head);
    Ok(entry)
}

/// Entries after `after`; none when some of them were dropped, or `after` is in the future.
pub(crate) fn entries(
    store: &impl Read,
    user: UserId,
    after: u64,
    limit: usize,
) -> Result<Option<Vec<AccountEntry>>, StoreError> {
    let head = head(store, user)?;
    if after < head.floor || after > head.last {
        return Ok(None);
    }
    let rows = store.page(&keys::account_entries_after(user, after), Direction::Forward, limit)?;
    rows.into_iter().map(|(key, value)| decode(&key, &value)).collect::<Result<_, _>>().map(Some)
}

pub(crate) fn head(store: &impl Read, user: UserId) -> Result<AccountHeadRecord, StoreError> {
    Ok(store.record(&keys::account_head(user))?.unwrap_or_default())
}

/// The whole of it, as it is.
pub(crate) fn whole(store: &impl Read, user: UserId) -> Result<AccountLog, StoreError> {
    let AccountHeadRecord { last, floor, .. } = head(store, user)?;
    let rows = store.all(&keys::account_entries_after(user, 0))?;
    let entries = rows.iter().map(|(key, value)| decode(key, value)).collect::<Result<_, _>>()?;
    Ok(AccountLog { last, floor, entries })
}

/// Puts another log in the place of the whole.
pub(crate) fn replace(txn: &mut Txn<'_>, user: UserId, log: &AccountLog) -> Result<(), StoreError> {
    for range in [keys::account_entries_after(user, 0), keys::account_subjects(user)] {
        for (bytes, _) in txn.all(&range)? {
            txn.remove(Key { table: range.table, bytes });
        }
    }
    for entry in &log.entries {
        let subject = keys::account_subject(user, entry.change.subject());
        txn.put_record(subject, &AccountSubjectRecord(entry.seq));
        txn.put_record(keys::account_entry(user, entry.seq), &AccountEntryRecord::from(entry));
    }
    let count = log.entries.len() as u64;
    let head = AccountHeadRecord { last: log.last, floor: log.floor, count };
    txn.put_record(keys::account_head(user), &head);
    Ok(())
}

fn drop_oldest(txn: &mut Txn<'_>, user: UserId, head: &mut AccountHeadRecord) -> Result<(), StoreError> {
    for (key, value) in txn.page(&keys::account_entries_after(user, head.floor), Direction::Forward, 1)? {
        let oldest = decode(&key, &value)?;
        txn.remove(keys::account_subject(user, oldest.change.subject()));
        txn.remove(keys::account_entry(user, oldest.seq));
        head.floor = oldest.seq;
        head.count -= 1;
    }
    Ok(())
}

fn decode(key: &[u8], value: &[u8]) -> Result<AccountEntry, StoreError> {
    let seq = keys::last_id(AccountEntryRecord::TABLE, key)?;
    Ok(AccountEntryRecord::decode(key, value)?.into_entry(seq))
}
