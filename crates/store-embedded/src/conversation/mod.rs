//! Conversations.
//!
//! - `append`: entries and all their effects, in one transaction; `erase` is a part of it
//! - `load`: the present state of conversations and members
//! - `history`: reads the log, from `chunks`
//! - `cursors`, `projections`: projections that are read by themselves

pub(crate) mod append;
mod chunks;
pub(crate) mod cursors;
mod erase;
pub(crate) mod history;
pub(crate) mod load;
pub(crate) mod projections;
