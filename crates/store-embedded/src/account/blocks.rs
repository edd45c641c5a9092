//! Blocked users.

use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;

use crate::engine::{Direction, View};
use crate::keys::{Key, KeyRange};
use crate::read::Read;

/// Filters `others` to the users that have a row. Most ranges are empty, which one lookup shows.
pub(crate) fn among(
    view: &View,
    any: &KeyRange,
    others: &[UserId],
    key: impl Fn(UserId) -> Key,
) -> Result<Vec<UserId>, StoreError> {
    if others.is_empty() || view.page(any, Direction::Forward, 1)?.is_empty() {
        return Ok(Vec::new());
    }
    let found = others.iter().map(|other| Ok(view.contains(&key(*other))?.then_some(*other)));
    found.filter_map(Result::transpose).collect()
}
