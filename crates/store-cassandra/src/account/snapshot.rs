//! The rows of an account that have been read, all at the same revision.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures_util::future::{try_join, try_join_all};
use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;
use scylla::DeserializeRow;

use super::rows::{Head, Key};
use super::statements::Statements;
use super::txn::Changes;
use crate::cql::Cql;
use crate::values::int;

/// Keys in one query, besides the anchor. ScyllaDB accepts at most 100.
const KEYS_MAX: usize = 99;

/// A row or a range to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Want {
    Row(Key),
    /// The rows of the key's kind from this key on, up to a limit.
    From(Key, i32),
}

impl Want {
    pub(super) const fn all(kind: i8) -> Self {
        Self::From(Key { kind, id: i64::MIN }, i32::MAX)
    }
}

#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// `None` when the account does not exist.
    revision: Option<i64>,
    pub(super) head: Head,
    rows: BTreeMap<Key, Option<String>>,
    /// The range of ids per kind that has been read completely: an id in it without a row does not exist.
    scanned: HashMap<i8, (i64, i64)>,
    is_old: bool,
}

/// The wanted rows that have not been read yet.
#[derive(Debug)]
pub(super) struct Unknown {
    pub(super) keys: Vec<Key>,
    pub(super) scans: Vec<(Key, i32)>,
}

#[derive(Debug, DeserializeRow)]
pub(super) struct AccountRow {
    pub(super) kind: i8,
    pub(super) id: i64,
    pub(super) body: String,
    pub(super) revision: i64,
    pub(super) log_last: i64,
    pub(super) log_floor: i64,
    pub(super) log_count: i64,
    pub(super) blocks: i64,
    pub(super) naming: i64,
    pub(super) stars: i64,
}

impl AccountRow {
    pub(super) fn head(&self) -> Head {
        Head {
            log_last: self.log_last.cast_unsigned(),
            log_floor: self.log_floor.cast_unsigned(),
            log_count: self.log_count.cast_unsigned(),
            blocks: self.blocks.cast_unsigned(),
            naming: self.naming.cast_unsigned(),
            stars: self.stars.cast_unsigned(),
        }
    }

    const fn key(&self) -> Key {
        Key { kind: self.kind, id: self.id }
    }
}

impl Snapshot {
    /// Reads the wanted rows that are not known yet. Returns `None` when the account has changed meanwhile,
    /// which invalidates everything known.
    pub(super) async fn read(
        cql: &Cql,
        statements: &Statements,
        user: UserId,
        known: Option<Self>,
        wants: &HashSet<Want>,
    ) -> Result<Option<Self>, StoreError> {
        let unknown = Unknown::among(wants, known.as_ref());
        match known {
            Some(known) if unknown.is_empty() => Ok(Some(known)),
            known => {
                let by_key = read_keys(cql, statements, user, &unknown.keys);
                let by_scan = unknown.scans.iter().map(|scan| read_from(cql, statements, user, *scan));
                let (by_key, by_scan) = try_join(by_key, try_join_all(by_scan)).await?;
                Ok(Self::with(known, unknown, by_key, by_scan))
            }
        }
    }

    /// Merges the rows that were read into the known ones, if all are of one revision. Each of the queries by
    /// key asked for the anchor too.
    pub(super) fn with(
        known: Option<Self>,
        unknown: Unknown,
        by_key: Vec<Vec<AccountRow>>,
        by_scan: Vec<Vec<AccountRow>>,
    ) -> Option<Self> {
        let mut snapshot = known.unwrap_or_else(|| Self::begin(by_key.iter().flatten().next()));
        // Only an account that does not exist has no anchor.
        let by_key_of = by_key.iter().map(|rows| rows.first().map(|row| row.revision));
        let by_scan_of = by_scan.iter().filter_map(|rows| rows.first()).map(|row| Some(row.revision));
        if by_key_of.chain(by_scan_of).any(|revision| revision != snapshot.revision) {
            return None;
        }
        snapshot.is_old = false;
        snapshot.rows.extend(unknown.keys.into_iter().map(|key| (key, None)));
        for ((from, limit), rows) in unknown.scans.into_iter().zip(&by_scan) {
            let is_last = rows.len() < usize::try_from(limit).unwrap_or(usize::MAX);
            snapshot.scan(from, rows.last().filter(|_| !is_last).map_or(i64::MAX, |row| row.id));
        }
        for row in by_key.into_iter().chain(by_scan).flatten() {
            snapshot.rows.insert(row.key(), Some(row.body));
        }
        Some(snapshot)
    }

    fn begin(row: Option<&AccountRow>) -> Self {
        let head = row.map(AccountRow::head).unwrap_or_default();
        Self { revision: row.map(|row| row.revision), head, ..Self::default() }
    }

    pub(super) const fn revision(&self) -> Option<i64> {
        self.revision
    }

    pub(super) const fn next_revision(&self) -> i64 {
        match self.revision {
            Some(revision) => revision + 1,
            None => 1,
        }
    }

    /// The row, `Some(None)` if it is known not to exist, and `None` if it has not been read.
    pub(super) fn row(&self, key: Key) -> Option<Option<&str>> {
        let is_scanned =
            || self.scanned.get(&key.kind).is_some_and(|(from, to)| (*from..=*to).contains(&key.id));
        match self.rows.get(&key) {
            Some(row) => Some(row.as_deref()),
            None => is_scanned().then_some(None),
        }
    }

    /// The known keys of the kind from this one on, and the id through which they are complete. `None` when
    /// this range has not been read.
    pub(super) fn keys_from(&self, from: Key) -> Option<(impl Iterator<Item = Key>, i64)> {
        let (_, to) = self.scanned.get(&from.kind).filter(|(first, to)| (*first..=*to).contains(&from.id))?;
        let keys = self.rows.range(from..=Key { id: *to, ..from }).map(|(key, _)| *key);
        Some((keys, *to))
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    fn is_known(&self, want: Want) -> bool {
        match want {
            Want::Row(key) => self.row(key).is_some(),
            Want::From(key, rows) => {
                self.keys_from(key).is_some_and(|(_, to)| rows < i32::MAX || to == i64::MAX)
            }
        }
    }

    /// Marks the snapshot as possibly outdated, until the next read confirms its revision.
    pub(super) fn into_old(self) -> Self {
        Self { is_old: true, ..self }
    }

    pub(super) const fn is_old(&self) -> bool {
        self.is_old
    }

    /// Applies changes that were written: the snapshot is current again.
    pub(super) fn advance(&mut self, changes: Changes) {
        self.revision = Some(self.next_revision());
        self.head = changes.head;
        self.rows.extend(changes.rows);
    }

    fn scan(&mut self, from: Key, to: i64) {
        let scanned = self.scanned.entry(from.kind).or_insert((from.id, to));
        // Extends the known range, or replaces it if the new one does not adjoin.
        let first = if scanned.1.checked_add(1) == Some(from.id) { scanned.0 } else { from.id };
        *scanned = (first, to);
    }
}

impl Unknown {
    pub(super) fn among(wants: &HashSet<Want>, known: Option<&Snapshot>) -> Self {
        let mut unknown = Self { keys: Vec::new(), scans: Vec::new() };
        for want in wants.iter().filter(|want| known.is_none_or(|known| !known.is_known(**want))) {
            match *want {
                Want::Row(key) => unknown.keys.push(key),
                Want::From(key, rows) => unknown.scans.push((key, rows)),
            }
        }
        unknown
    }

    const fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.scans.is_empty()
    }
}

/// Runs at least one query. Each asks for the anchor too, because that row brings the static columns.
async fn read_keys(
    cql: &Cql,
    statements: &Statements,
    user: UserId,
    keys: &[Key],
) -> Result<Vec<Vec<AccountRow>>, StoreError> {
    let parts = if keys.is_empty() { vec![keys] } else { keys.chunks(KEYS_MAX).collect() };
    let read = parts.into_iter().map(|part| {
        let keys: Vec<(i8, i64)> = part.iter().chain([&Key::ANCHOR]).map(|key| (key.kind, key.id)).collect();
        cql.rows("read an account", &statements.rows, (int(user.get()), keys))
    });
    try_join_all(read).await
}

async fn read_from(
    cql: &Cql,
    statements: &Statements,
    user: UserId,
    (from, rows): (Key, i32),
) -> Result<Vec<AccountRow>, StoreError> {
    let values = (int(user.get()), from.kind, from.id, rows);
    cql.rows("read an account", &statements.rows_from, values).await
}
