//! The account log: its entries, and the index of the newest entry per subject.
//!
//! A row holds a chunk of entries: those of [`CHUNK_SEQS`] sequence numbers. With a row per entry, every
//! replaced entry would leave a tombstone, and a user who reads a lot, and so replaces the same few entries
//! again and again, would fill the log with tombstones.
//!
//! [`whole`] copies a log in a transfer.

pub(super) mod whole;

use godwit_domain::account::{self, Noted};
use godwit_domain::model::{AccountEntry, AccountNote};
use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;

use super::Accounts;
use super::change::{Of, Outside};
use super::rows::{CHUNK, CHUNK_SEQS, EntryBody, Key};
use super::snapshot::{AccountRow, Want};
use super::txn::{Stop, Txn, decode};
use crate::values::int;

/// Chunks in one query: more than a page of a dense log needs, and few of a sparse one.
const CHUNKS_READ: i32 = 16;

/// The row that is certain to be read when a note is written.
pub(super) fn wants(note: &AccountNote) -> Want {
    Want::Row(Key::newest(note.change.subject()))
}

/// Decides on a note and writes it in this transaction.
pub(super) fn write(txn: &mut Txn<'_>, note: &AccountNote) -> Result<AccountEntry, Stop> {
    let noted = account::note(&mut Of { txn, outside: &Outside::default() }, note)?;
    write_noted(txn, &noted)?;
    Ok(noted.entry)
}

pub(super) fn write_noted(txn: &mut Txn<'_>, noted: &Noted) -> Result<(), Stop> {
    let Noted { entry, replaced, dropped, head } = noted;
    let gone = || replaced.iter().copied().chain(dropped.map(|dropped| dropped.seq));
    txn.need([entry.seq].into_iter().chain(gone()).map(Key::chunk))?;
    for seq in gone() {
        take(txn, seq)?;
    }
    if let Some(dropped) = dropped {
        txn.remove(Key::newest(dropped.change.subject()));
    }
    append(txn, entry)?;
    txn.put(Key::newest(entry.change.subject()), &entry.seq);
    txn.head_mut().set_log(*head);
    Ok(())
}

pub(super) fn oldest(txn: &mut Txn<'_>) -> Result<Option<AccountEntry>, Stop> {
    let first: Option<(_, Vec<EntryBody>)> = txn.first_from(Key::chunk(txn.head().log_floor))?;
    Ok(first.and_then(|(_, chunk)| chunk.into_iter().next().map(AccountEntry::from)))
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

impl Accounts {
    /// Writes notes of one user: all of them or none.
    pub(crate) async fn note(
        &self,
        user: UserId,
        notes: Vec<AccountNote>,
    ) -> Result<Vec<AccountEntry>, StoreError> {
        let wants: Vec<Want> = notes.iter().map(wants).collect();
        let run = move |txn: &mut Txn<'_>| notes.iter().map(|note| write(txn, note)).collect();
        self.writer.write("write a note", user, wants, run).await
    }

    /// Entries after `after`. `None` when some of them were dropped, or `after` is in the future.
    pub(crate) async fn account_log(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> Result<Option<Vec<AccountEntry>>, StoreError> {
        let mut entries = Vec::new();
        // Everything through this seq has been read or was not asked for.
        let mut read = after;
        loop {
            // The chunk of the last entry exists unless the log is empty. So no rows means that `after` is past
            // the end.
            let chunks = self.chunks_from(user, Key::chunk(read)).await?;
            let (Some(first), Some(last)) = (chunks.first(), chunks.last()) else {
                return Ok((after == 0).then_some(entries));
            };
            let head = first.head();
            if !head.log().is_complete_after(read) {
                return Ok(None);
            }
            for row in &chunks {
                let chunk: Vec<EntryBody> = decode(user, Key { kind: CHUNK, id: row.id }, &row.body)?;
                entries.extend(chunk.into_iter().filter(|entry| entry.seq > read).map(AccountEntry::from));
            }
            // Not past the head that came with these rows: the last chunk may get more entries.
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
