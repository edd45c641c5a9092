//! A transaction on an account: several operations run on one snapshot, one after the other, before anything is written.
//!
//! ```text
//! get(key):  changes of this operation ─▶ changes of earlier operations ─▶ snapshot ─▶ Stop::Unread
//! ```
//!
//! A row that has neither been changed nor read stops the operation with [`Stop::Unread`] and is added to `wants`. The
//! [writer](super::writer) reads the row and runs all operations again.

use std::collections::{BTreeMap, BTreeSet};

use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::rows::{Head, Key};
use super::snapshot::{Snapshot, Want};

/// Rows per query in the search for the first row from a key on.
const SCANNED_ROWS: i32 = 8;

/// Runs operations on one snapshot. An operation sees the changes of the operations before it. The changes of a failed operation
/// are dropped.
#[derive(Debug)]
pub(super) struct Txn<'a> {
    user: UserId,
    snapshot: &'a Snapshot,
    /// The changes of the operations that have succeeded.
    changes: Changes,
    /// The changes of the operation that is running.
    own: Changes,
    wants: Vec<Want>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Changes {
    pub(super) head: Head,
    /// `None` for a row that is removed.
    pub(super) rows: BTreeMap<Key, Option<String>>,
}

/// Why an operation did not complete.
#[derive(Debug)]
pub(super) enum Stop {
    /// The operation asked for a row that has not been read. It runs again after the row has been read.
    Unread,
    Failed(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl<'a> Txn<'a> {
    pub(super) fn new(user: UserId, snapshot: &'a Snapshot) -> Self {
        let changes = Changes { head: snapshot.head, rows: BTreeMap::new() };
        Self { user, snapshot, own: changes.clone(), changes, wants: Vec::new() }
    }

    /// Runs one operation, and returns whether it changes something.
    pub(super) fn run<T>(
        &mut self,
        operation: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> (Result<T, Stop>, bool) {
        self.own = Changes { head: self.changes.head, rows: BTreeMap::new() };
        let result = operation(self);
        let own = std::mem::take(&mut self.own);
        let changes = result.is_ok() && (own.head != self.changes.head || !own.rows.is_empty());
        if changes {
            self.changes.head = own.head;
            self.changes.rows.extend(own.rows);
        }
        (result, changes)
    }

    /// The changes of all operations, or the rows that must be read before the operations can complete.
    pub(super) fn end(self) -> Result<Changes, Vec<Want>> {
        if self.wants.is_empty() { Ok(self.changes) } else { Err(self.wants) }
    }

    pub(super) const fn user(&self) -> UserId {
        self.user
    }

    /// The revision that the account will have with the changes.
    pub(super) const fn revision(&self) -> u64 {
        self.snapshot.next_revision().cast_unsigned()
    }

    pub(super) const fn head(&self) -> Head {
        self.own.head
    }

    pub(super) const fn head_mut(&mut self) -> &mut Head {
        &mut self.own.head
    }

    pub(super) fn get<R: DeserializeOwned>(&mut self, key: Key) -> Result<Option<R>, Stop> {
        match self.row(key) {
            Some(row) => Ok(row.map(|body| decode(self.user, key, body)).transpose()?),
            None => Err(self.unread(Want::Row(key))),
        }
    }

    /// Requires several rows at once, so that one query reads all of them.
    pub(super) fn need(&mut self, keys: impl IntoIterator<Item = Key>) -> Result<(), Stop> {
        let unread: Vec<Want> =
            keys.into_iter().filter(|key| self.row(*key).is_none()).map(Want::Row).collect();
        if unread.is_empty() {
            return Ok(());
        }
        self.wants.extend(unread);
        Err(Stop::Unread)
    }

    /// All rows of a kind.
    pub(super) fn all<R: DeserializeOwned>(&mut self, kind: i8) -> Result<Vec<(Key, R)>, Stop> {
        let first = Key { kind, id: i64::MIN };
        let Some((keys, i64::MAX)) = self.keys_from(first) else {
            return Err(self.unread(Want::all(kind)));
        };
        let mut rows = Vec::new();
        for key in keys {
            rows.extend(self.get(key)?.map(|row| (key, row)));
        }
        Ok(rows)
    }

    /// The first row of the key's kind, from this key on.
    pub(super) fn first_from<R: DeserializeOwned>(&mut self, key: Key) -> Result<Option<(Key, R)>, Stop> {
        let Some((keys, to)) = self.keys_from(key) else {
            return Err(self.unread(Want::From(key, SCANNED_ROWS)));
        };
        for key in keys {
            if let Some(row) = self.get(key)? {
                return Ok(Some((key, row)));
            }
        }
        match to.checked_add(1) {
            Some(next) => Err(self.unread(Want::From(Key { id: next, ..key }, SCANNED_ROWS))),
            None => Ok(None),
        }
    }

    pub(super) fn put(&mut self, key: Key, row: &impl Serialize) {
        self.own.rows.insert(key, Some(encode(row)));
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.own.rows.insert(key, None);
    }

    fn row(&self, key: Key) -> Option<Option<&str>> {
        let changed = self.own.rows.get(&key).or_else(|| self.changes.rows.get(&key));
        changed.map(|row| Some(row.as_deref())).unwrap_or_else(|| self.snapshot.row(key))
    }

    /// The keys from `from` on that may have a row, and the id up to which no other row exists.
    fn keys_from(&self, from: Key) -> Option<(BTreeSet<Key>, i64)> {
        let (known, to) = self.snapshot.keys_from(from)?;
        let range = from..=Key { id: to, ..from };
        let changed = self.own.rows.range(range.clone()).chain(self.changes.rows.range(range));
        Some((known.chain(changed.map(|(key, _)| *key)).collect(), to))
    }

    fn unread(&mut self, want: Want) -> Stop {
        self.wants.push(want);
        Stop::Unread
    }
}

pub(super) fn encode(row: &impl Serialize) -> String {
    serde_json::to_string(row).expect("plain structs without maps can always be encoded")
}

pub(super) fn decode<R: DeserializeOwned>(user: UserId, key: Key, body: &str) -> Result<R, StoreError> {
    serde_json::from_str(body).map_err(|error| StoreError::Corrupt {
        table: "accounts",
        key: format!("{user}, {}, {}", key.kind, key.id),
        // An error of serde_json names the position. It quotes no content, except an unknown variant of an enum.
        reason: error.to_string(),
    })
}
