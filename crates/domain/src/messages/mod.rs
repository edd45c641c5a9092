//! Sending and reading messages.

mod outbox;
mod reading;
mod sending;

pub(crate) use outbox::Outbox;
pub use reading::{Anchor, HistoryPage, ReadError, Reading};
pub use sending::{SendError, Sending, Sent, Submitted};
