//! Conversations.
//!
//! - `append`: entries and all their effects, in one transaction; `erase` is a part of it
//! - `making`: new conversations
//! - `load`: the present state of conversations and members
//! - `history`: reads the log, from `chunks`
//! - `cursors`, `reactions`, `threads`: projections that are read by themselves
//! - `trails`: cursors with all their moves, for a transfer

pub(crate) mod append;
mod chunks;
pub(crate) mod cursors;
mod erase;
pub(crate) mod history;
pub(crate) mod load;
pub(crate) mod making;
pub(crate) mod reactions;
pub(crate) mod threads;
pub(crate) mod trails;
