//! Transactions: what one write reads and changes, on top of the writes that were put into the same group before it.
//!
//! ```text
//! read of a row:   overlay (rows of this group) ──▶ view (the last commit)
//! write of a row:  overlay; the previous value goes to the undo list
//! keep():          empties the undo list        drop without keep(): restores the overlay from the undo list
//! ```
//!
//! Transactions run one after the other on the committer's thread, each sees the rows of those before it, and one that fails
//! leaves nothing behind. So they are serialisable without locks, and a group of them is one atomic batch.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use godwit_domain::ports::StoreError;
use godwit_protocol::ConversationId;

use crate::engine::{Bytes, Direction, Row, View};
use crate::keys::{Key, KeyRange};
use crate::read::Read;
use crate::records::Record;

/// The rows of a group that are not durable yet: the new value of a row, or `None` where the row is removed.
#[derive(Default)]
pub(crate) struct Overlay {
    rows: BTreeMap<Key, Option<Bytes>>,
    bytes: usize,
    /// Conversations that became hot in this group, see `inbox/order.rs`.
    heated: Vec<ConversationId>,
    /// How many may become hot.
    heated_max: usize,
}

/// One write of a group. Dropped without [`Txn::keep`], it rolls back.
pub(crate) struct Txn<'a> {
    view: &'a View,
    overlay: &'a mut Overlay,
    /// The previous value in the overlay of each row that was written, in the order of the writes.
    undo: Vec<(Key, Option<Option<Bytes>>)>,
    bytes_before: usize,
    heated_before: usize,
}

impl Overlay {
    pub(crate) fn new(heated_max: usize) -> Self {
        Self { heated_max, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes of all keys and values that were written, including those overwritten within the group.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn heated(&self) -> &[ConversationId] {
        &self.heated
    }

    /// A row of the committer itself, which is never rolled back.
    pub(crate) fn put(&mut self, key: Key, value: Bytes) {
        self.rows.insert(key, Some(value));
    }

    pub(crate) fn into_rows(self) -> impl ExactSizeIterator<Item = (Key, Option<Bytes>)> {
        self.rows.into_iter()
    }
}

impl<'a> Txn<'a> {
    pub(crate) fn new(view: &'a View, overlay: &'a mut Overlay) -> Self {
        let (bytes_before, heated_before) = (overlay.bytes, overlay.heated.len());
        Self { view, overlay, undo: Vec::new(), bytes_before, heated_before }
    }

    pub(crate) fn put(&mut self, key: Key, value: Bytes) {
        self.write(key, Some(value));
    }

    pub(crate) fn put_record(&mut self, key: Key, record: &impl Record) {
        self.put(key, record.encode());
    }

    pub(crate) fn remove(&mut self, key: Key) {
        self.write(key, None);
    }

    /// The rows that this transaction has written so far, with their present values: `None` where a row is removed. A row
    /// that was written twice comes twice.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&Key, Option<&Bytes>)> {
        self.undo.iter().map(|(key, _)| (key, self.overlay.rows.get(key).and_then(Option::as_ref)))
    }

    pub(crate) const fn may_heat(&self) -> bool {
        self.overlay.heated.len() < self.overlay.heated_max
    }

    pub(crate) fn heat(&mut self, conversation: ConversationId) {
        self.overlay.heated.push(conversation);
    }

    pub(crate) fn keep(mut self) {
        self.undo.clear();
        self.bytes_before = self.overlay.bytes;
        self.heated_before = self.overlay.heated.len();
    }

    fn write(&mut self, key: Key, value: Option<Bytes>) {
        self.overlay.bytes += key.bytes.len() + value.as_ref().map_or(0, |value| value.len());
        let before = match self.overlay.rows.entry(key.clone()) {
            Entry::Occupied(mut row) => Some(row.insert(value)),
            Entry::Vacant(row) => {
                row.insert(value);
                None
            }
        };
        self.undo.push((key, before));
    }
}

impl Drop for Txn<'_> {
    fn drop(&mut self) {
        for (key, before) in self.undo.drain(..).rev() {
            match before {
                Some(value) => self.overlay.rows.insert(key, value),
                None => self.overlay.rows.remove(&key),
            };
        }
        self.overlay.bytes = self.bytes_before;
        self.overlay.heated.truncate(self.heated_before);
    }
}

impl Read for Txn<'_> {
    fn bytes(&self, key: &Key) -> Result<Option<Bytes>, StoreError> {
        match self.overlay.rows.get(key) {
            Some(written) => Ok(written.clone()),
            None => self.view.get(key),
        }
    }

    fn page(&self, range: &KeyRange, direction: Direction, limit: usize) -> Result<Vec<Row>, StoreError> {
        if range.start >= range.end {
            return Ok(Vec::new());
        }
        let bound = |bytes: &Bytes| Key { table: range.table, bytes: bytes.clone() };
        let written: Vec<_> = self.overlay.rows.range(bound(&range.start)..bound(&range.end)).collect();
        // A written row hides at most one stored row, so that many more stored rows always fill the page.
        let stored = self.view.page(range, direction, limit.saturating_add(written.len()))?;
        let mut merged: BTreeMap<Bytes, Bytes> = stored.into_iter().collect();
        for (key, value) in written {
            match value {
                Some(value) => merged.insert(key.bytes.clone(), value.clone()),
                None => merged.remove(&key.bytes),
            };
        }
        Ok(match direction {
            Direction::Forward => merged.into_iter().take(limit).collect(),
            Direction::Backward => merged.into_iter().rev().take(limit).collect(),
        })
    }
}
