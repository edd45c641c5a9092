//! Writing and reading messages.

mod reading;
mod receipts;
mod viewing;
mod writing;

pub use reading::{Anchor, HistoryPage, ReadError, Reading};
pub use writing::{Sent, Writing};
