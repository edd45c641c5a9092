//! Conversions between Godwit's types and those of CQL, which has no unsigned integers. Ids and positions are
//! below 2^63.

use godwit_protocol::Timestamp;
use scylla::value::{CqlTimestamp, CqlValue};

/// Larger numbers mean "the end", where nothing is stored.
pub(crate) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A value for `LIMIT`. CQL does not accept zero there.
pub(crate) fn row_limit(limit: usize) -> Option<i32> {
    let limit = i32::try_from(limit).unwrap_or(i32::MAX);
    (limit > 0).then_some(limit)
}

pub(crate) fn bigint(value: u64) -> CqlValue {
    CqlValue::BigInt(int(value))
}

pub(crate) fn text(value: impl Into<String>) -> CqlValue {
    CqlValue::Text(value.into())
}

pub(crate) const fn time(value: Timestamp) -> CqlTimestamp {
    CqlTimestamp(value.as_millis())
}

pub(crate) const fn timestamp(value: Timestamp) -> CqlValue {
    CqlValue::Timestamp(time(value))
}
