//! Values stored as JSON because they are read and written whole: entries of the log, details and message
//! states.
//!
//! A body does not repeat the columns of its row. A new field needs `#[serde(default)]`, and an old field keeps
//! its name. Roles and kinds have the same names as in the API.

mod details;
mod entries;
mod message_states;
mod messages;

use godwit_domain::ports::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use details::StoredDetails;
pub(crate) use entries::StoredChange;
pub(crate) use message_states::{StoredLastMessage, StoredState};
pub(crate) use messages::{StoredDraft, StoredMessage};

pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("records are plain data")
}

pub(crate) fn from_json<T: DeserializeOwned>(
    table: &'static str,
    key: impl FnOnce() -> String,
    text: &str,
) -> Result<T, StoreError> {
    // The reason must not quote content.
    serde_json::from_str(text)
        .map_err(|error| corrupt(table, key(), format!("invalid at column {}", error.column())))
}

pub(crate) fn corrupt(table: &'static str, key: String, reason: impl Into<String>) -> StoreError {
    StoreError::Corrupt { table, key, reason: reason.into() }
}

/// For fields that are omitted when false.
pub(crate) const fn is_false(value: &bool) -> bool {
    !*value
}
