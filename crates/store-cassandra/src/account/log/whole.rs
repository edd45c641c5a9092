//! The account log as a whole, as a transfer copies it between stores.

use std::collections::BTreeMap;
use std::sync::Arc;

use godwit_domain::model::AccountEntry;
use godwit_domain::ports::{AccountLog, StoreError};
use godwit_protocol::UserId;

use crate::account::Accounts;
use crate::account::rows::{CHUNK, EntryBody, Head, Key, NEWEST_KINDS};
use crate::account::snapshot::{AccountRow, Want};
use crate::account::txn::{Stop, Txn, decode};
use crate::values::int;

/// Rows written with one compare-and-set.
const ROWS_AT_ONCE_MAX: usize = 1_024;

/// The content of a row of the log.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::account) enum LogRow {
    Chunk(Vec<AccountEntry>),
    Newest(u64),
}

pub(in crate::account) type LogRows = BTreeMap<Key, LogRow>;

impl Accounts {
    pub(crate) async fn whole_log(&self, user: UserId) -> Result<AccountLog, StoreError> {
        let values = (int(user.get()), CHUNK, i64::MIN, i32::MAX);
        let chunks: Vec<AccountRow> =
            self.cql.rows("read an account log", &self.statements.rows_from, values).await?;
        let head = match chunks.first() {
            Some(chunk) => chunk.head(),
            None => self.head(user).await?,
        };
        let mut entries = Vec::new();
        for AccountRow { kind, id, body, .. } in chunks {
            let chunk: Vec<EntryBody> = decode(user, Key { kind, id }, &body)?;
            entries.extend(chunk.into_iter().map(AccountEntry::from));
        }
        Ok(AccountLog { last: head.log_last, floor: head.log_floor, entries })
    }

    async fn head(&self, user: UserId) -> Result<Head, StoreError> {
        let anchor = vec![(Key::ANCHOR.kind, Key::ANCHOR.id)];
        let values = (int(user.get()), anchor);
        let row: Option<AccountRow> =
            self.cql.row("read an account log", &self.statements.rows, values).await?;
        Ok(row.map(|row| row.head()).unwrap_or_default())
    }

    /// Makes the log equal to the given one. A long log takes several steps, and a crash between them is
    /// repaired by running it again.
    pub(crate) async fn replace_log(&self, user: UserId, log: &AccountLog) -> Result<(), StoreError> {
        let (rows, log_count) = (Arc::new(rows_of(log)), log.entries.len() as u64);
        let (log_last, log_floor) = (log.last, log.floor);
        let wants: Vec<Want> = [CHUNK].into_iter().chain(NEWEST_KINDS).map(Want::all).collect();
        loop {
            let rows = rows.clone();
            let run = move |txn: &mut Txn<'_>| {
                let head = Head { log_last, log_floor, log_count, ..txn.head() };
                replace(txn, &rows, head)
            };
            if self.writer.write("replace an account log", user, wants.clone(), run).await? {
                return Ok(());
            }
        }
    }
}

/// Takes one step toward the wanted log. Returns whether it is complete.
///
/// Rows to be removed go first, then the counters change, then rows are added. So the number of subjects with a
/// newest entry never exceeds the counted entries, and notes can be written to a log that is half replaced.
pub(in crate::account) fn replace(txn: &mut Txn<'_>, wanted: &LogRows, head: Head) -> Result<bool, Stop> {
    let stored = stored(txn)?;
    let mut room = 0..ROWS_AT_ONCE_MAX;
    for key in stored.keys().filter(|key| !wanted.contains_key(key)) {
        if room.next().is_none() {
            return Ok(false);
        }
        txn.remove(*key);
    }
    *txn.head_mut() = head;
    for (key, row) in wanted.iter().filter(|(key, row)| stored.get(key) != Some(row)) {
        if room.next().is_none() {
            return Ok(false);
        }
        match row {
            LogRow::Chunk(entries) => {
                let entries: Vec<EntryBody> = entries.iter().map(EntryBody::from).collect();
                txn.put(*key, &entries);
            }
            LogRow::Newest(seq) => txn.put(*key, seq),
        }
    }
    Ok(true)
}

fn stored(txn: &mut Txn<'_>) -> Result<LogRows, Stop> {
    let mut rows = LogRows::new();
    for (key, chunk) in txn.all::<Vec<EntryBody>>(CHUNK)? {
        rows.insert(key, LogRow::Chunk(chunk.into_iter().map(AccountEntry::from).collect()));
    }
    for kind in NEWEST_KINDS {
        rows.extend(txn.all(kind)?.into_iter().map(|(key, seq)| (key, LogRow::Newest(seq))));
    }
    Ok(rows)
}

pub(in crate::account) fn rows_of(log: &AccountLog) -> LogRows {
    let mut rows = LogRows::new();
    for entry in &log.entries {
        let chunk = rows.entry(Key::chunk(entry.seq)).or_insert_with(|| LogRow::Chunk(Vec::new()));
        if let LogRow::Chunk(entries) = chunk {
            entries.push(*entry);
        }
        rows.insert(Key::newest(entry.change.subject()), LogRow::Newest(entry.seq));
    }
    rows
}
