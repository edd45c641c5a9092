//! The inbox: the conversations of a user, and their order.
//!
//! - `page`: pages of the order, with the hot conversations in their right places
//! - `listing`: whether a conversation is in a user's inbox, and with which settings
//! - `order`, `hot`: keep the order without moving rows for every message
//! - `changes`: the order of change, in which a returning client finds what is new

pub(crate) mod changes;
pub(crate) mod hot;
pub(crate) mod listing;
pub(crate) mod order;
pub(crate) mod page;
