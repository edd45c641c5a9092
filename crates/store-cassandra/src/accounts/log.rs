//! The account log: compacted per subject, and bounded.
//!
//! Entries are kept in chunks, one row for [`CHUNK_SEQS`] numbers. A row for each entry would leave a tombstone for each
//! that is replaced: whoever reads much, and so moves the same few entries all the time, would bury the log in them.

use godwit_domain::model::{AccountEntry, AccountNote};
use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;
use godwit_protocol::limits::ACCOUNT_LOG_ENTRIES_MAX;

use super::Accounts;
use super::rows::{CHUNK, CHUNK_SEQS, EntryBody, Key};
use super::snapshot::{AccountRow, Want};
use super::txn::{Stop, Txn, decode};
use crate::values::int;

/// Chunks that are read at once: more than a page of a dense log has, and not much of a sparse one.
const CHUNKS_READ: i32 = 16;

/// What writing a note is known to need.
pub(super) fn wants(note: &AccountNote) -> Want {
    Want::Row(Key::newest(note.change.subject()))
}

/// Writes an entry in place of the one about the same subject. The oldest one goes when the log is full.
pub(super) fn write(txn: &mut Txn<'_>, note: &AccountNote) -> Result<AccountEntry, Stop> {
    let newest = Key::newest(note.change.subject());
    let replaced: Option<u64> = txn.get(newest)?;
    txn.need([txn.head().log_last + 1].into_iter().chain(replaced).map(Key::chunk))?;
    if let Some(replaced) = replaced {
        take(txn, replaced)?;
        txn.head_mut().log_count -= 1;
    }
    let head = txn.head_mut();
    head.log_last += 1;
    head.log_count += 1;
    let entry = AccountEntry { seq: head.log_last, at: note.at, change: note.change };
    append(txn, &entry)?;
    txn.put(newest, &entry.seq);
    if txn.head().log_count > ACCOUNT_LOG_ENTRIES_MAX as u64 {
        drop_oldest(txn)?;
    }
    Ok(entry)
}

fn append(txn: &mut Txn<'_>, entry: &AccountEntry) -> Result<(), Stop> {
    let key = Key::chunk(entry.seq);
    let mut chunk: Vec<EntryBody> = txn.get(key)?.unwrap_or_default();
    chunk.push(entry.into());
    txn.put(key, &chunk);
    Ok(())
}

fn take(txn: &mut Txn<'_>, seq: u64) -> Result<(), Stop> {
    let key = Key::chunk(seq);
    let mut chunk: Vec<EntryBody> = txn.get(key)?.unwrap_or_default();
    chunk.retain(|entry| entry.seq != seq);
    if chunk.is_empty() {
        txn.remove(key);
    } else {
        txn.put(key, &chunk);
    }
    Ok(())
}

fn drop_oldest(txn: &mut Txn<'_>) -> Result<(), Stop> {
    let first: Option<(_, Vec<EntryBody>)> = txn.first_from(Key::chunk(txn.head().log_floor))?;
    if let Some(oldest) = first.as_ref().and_then(|(_, chunk)| chunk.first()) {
        let oldest = AccountEntry::from(oldest);
        take(txn, oldest.seq)?;
        txn.remove(Key::newest(oldest.change.subject()));
        let head = txn.head_mut();
        head.log_floor = oldest.seq;
        head.log_count -= 1;
    }
    Ok(())
}

impl Accounts {
    /// Writes notes of one user, all or none.
    pub(crate) async fn note(
        &self,
        user: UserId,
        notes: Vec<AccountNote>,
    ) -> Result<Vec<AccountEntry>, StoreError> {
        let wants: Vec<Want> = notes.iter().map(wants).collect();
        let run = move |txn: &mut Txn<'_>| notes.iter().map(|note| write(txn, note)).collect();
        self.writer.write("write a note", user, wants, run).await
    }

    /// Entries after `after`; none when some of them were dropped, or `after` is in the future.
    pub(crate) async fn account_log(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> Result<Option<Vec<AccountEntry>>, StoreError> {
        let mut entries = Vec::new();
        // Everything up to here has been read, or was not asked for.
        let mut read = after;
        loop {
            // That of the last entry is there unless there is none at all, so no rows means that `after` is past the end.
            let chunks = self.chunks_from(user, Key::chunk(read)).await?;
            let (Some(first), Some(last)) = (chunks.first(), chunks.last()) else {
                return Ok((after == 0).then_some(entries));
            };
            let head = first.head();
            if read < head.log_floor || read > head.log_last {
                return Ok(None);
            }
            for row in &chunks {
                let chunk: Vec<EntryBody> = decode(user, Key { kind: CHUNK, id: row.id }, &row.body)?;
                entries.extend(chunk.iter().filter(|entry| entry.seq > read).map(AccountEntry::from));
            }
            // No further than the log went when this was read: what has come since may be in the last chunk too.
            read = (last.id.cast_unsigned() * CHUNK_SEQS + CHUNK_SEQS - 1).min(head.log_last);
            if entries.len() >= limit || read == head.log_last {
                entries.truncate(limit);
                return Ok(Some(entries));
            }
        }
    }

    async fn chunks_from(&self, user: UserId, from: Key) -> Result<Vec<AccountRow>, StoreError> {
        let values = (int(user.get()), from.kind, from.id, CHUNKS_READ);
        self.cql.rows("read an account log", &self.statements.rows_from, values).await
    }

    pub(crate) async fn account_head(&self, user: UserId) -> Result<u64, StoreError> {
        let row: Option<(i64,)> =
            self.cql.row("read an account log", &self.statements.log_last, (int(user.get()),)).await?;
        Ok(row.map_or(0, |(last,)| last.cast_unsigned()))
    }
}
