//! What is written as JSON, because it is read and written whole: entries of the log, details, what became of messages.
//!
//! A body does not repeat what its row says. A new field needs `#[serde(default)]`, and an old one keeps its name for good.
//! Words of the wire (roles, kinds) are written as the wire has them.

mod changes;
mod details;
mod messages;
mod states;

use godwit_domain::ports::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use changes::StoredChange;
pub(crate) use details::StoredDetails;
pub(crate) use messages::{StoredDraft, StoredMessage};
pub(crate) use states::{StoredLastMessage, StoredState};

pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("records are plain data")
}

pub(crate) fn from_json<T: DeserializeOwned>(
    table: &'static str,
    key: impl FnOnce() -> String,
    text: &str,
) -> Result<T, StoreError> {
    // The reason must not quote the content.
    serde_json::from_str(text)
        .map_err(|error| corrupt(table, key(), format!("invalid at column {}", error.column())))
}

pub(crate) fn corrupt(table: &'static str, key: String, reason: impl Into<String>) -> StoreError {
    StoreError::Corrupt { table, key, reason: reason.into() }
}

/// For fields that are left out where they say nothing.
pub(crate) const fn is_false(value: &bool) -> bool {
    !*value
}
