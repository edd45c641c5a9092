//! Builds keys and key ranges from parts.

use godwit_domain::ports::{ActivityPosition, SeqRange};
use godwit_protocol::Timestamp;
use smallvec::{SmallVec, smallvec};

use crate::engine::{Bytes, Key, KeyRange, Table};

/// Longer than all keys except those that contain long texts.
const KEY_BYTES_USUAL: usize = 64;

type Short = SmallVec<[u8; KEY_BYTES_USUAL]>;

#[derive(Clone)]
pub(super) struct KeyBuilder {
    table: Table,
    bytes: Short,
}

impl KeyBuilder {
    pub(super) fn new(table: Table, tag: u8) -> Self {
        Self { table, bytes: smallvec![tag] }
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(super) fn id(self, id: u64) -> Self {
        self.bytes(&id.to_be_bytes())
    }

    /// No time is before 1970.
    pub(super) fn time(self, at: Timestamp) -> Self {
        self.id(at.as_millis().cast_unsigned())
    }

    /// Inverted, so that later times and higher ids come first.
    pub(super) fn position(self, position: ActivityPosition) -> Self {
        self.id(!position.at.as_millis().cast_unsigned()).id(!position.conversation.get())
    }

    pub(super) fn key(self) -> Key {
        Key { table: self.table, bytes: Bytes::new(&self.bytes) }
    }

    /// All keys with this prefix.
    pub(super) fn range(self) -> KeyRange {
        let end = after_prefix(&self.bytes);
        KeyRange { table: self.table, start: Bytes::new(&self.bytes), end }
    }

    /// All keys with this prefix and one more id, from those higher than `after`.
    pub(super) fn after(self, after: Option<u64>) -> KeyRange {
        let (table, end) = (self.table, after_prefix(&self.bytes));
        let start = match after {
            None => Bytes::new(&self.bytes),
            Some(after) => just_after(&self.id(after).bytes),
        };
        KeyRange { table, start, end }
    }

    /// All keys with this prefix and one more id from `first` through `last`.
    pub(super) fn span(self, first: u64, last: u64) -> KeyRange {
        let end = just_after(&self.clone().id(last).bytes);
        KeyRange { table: self.table, start: Bytes::new(&self.id(first).bytes), end }
    }

    /// All keys with this prefix and a time that is not after `last`.
    pub(super) fn until(self, last: Timestamp) -> KeyRange {
        let start = Bytes::new(&self.bytes);
        KeyRange { table: self.table, start, end: after_prefix(&self.time(last).bytes) }
    }

    /// All keys with this prefix and a sequence number in the range.
    pub(super) fn between(self, range: SeqRange) -> KeyRange {
        let end = Bytes::new(&self.clone().id(range.before.get()).bytes);
        KeyRange { end, ..self.after(Some(range.after.get())) }
    }
}

/// The lowest key above this one.
pub(super) fn just_after(key: &[u8]) -> Bytes {
    let mut after = Short::from_slice(key);
    after.push(0);
    Bytes::new(&after)
}

/// The lowest key above all keys with this prefix. It exists, because a tag is never 255.
fn after_prefix(prefix: &[u8]) -> Bytes {
    let kept = prefix.iter().rposition(|byte| *byte < u8::MAX).map_or(0, |last| last + 1);
    let mut end = Short::from_slice(&prefix[..kept]);
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    Bytes::new(&end)
}
