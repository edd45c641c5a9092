//! Reads, on a [`View`] or in a transaction.

use godwit_domain::ports::StoreError;
use serde::de::DeserializeOwned;

use crate::engine::{Bytes, Direction, Row, View};
use crate::keys::{Key, KeyRange};
use crate::records::Record;

pub(crate) trait Read {
    fn bytes(&self, key: &Key) -> Result<Option<Bytes>, StoreError>;

    /// The first `limit` rows of a range, or the last ones in descending order.
    fn page(&self, range: &KeyRange, direction: Direction, limit: usize) -> Result<Vec<Row>, StoreError>;

    fn record<R: Record + DeserializeOwned>(&self, key: &Key) -> Result<Option<R>, StoreError> {
        self.bytes(key)?.map(|bytes| R::decode(&key.bytes, &bytes)).transpose()
    }

    fn contains(&self, key: &Key) -> Result<bool, StoreError> {
        Ok(self.bytes(key)?.is_some())
    }

    /// All rows of a range that is bounded by nature: the members of a conversation, the devices of a user.
    fn all(&self, range: &KeyRange) -> Result<Vec<Row>, StoreError> {
        self.page(range, Direction::Forward, usize::MAX)
    }
}

impl Read for View {
    fn bytes(&self, key: &Key) -> Result<Option<Bytes>, StoreError> {
        self.get(key)
    }

    fn page(&self, range: &KeyRange, direction: Direction, limit: usize) -> Result<Vec<Row>, StoreError> {
        View::page(self, range, direction, limit)
    }
}
