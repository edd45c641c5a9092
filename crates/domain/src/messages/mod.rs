//! Writing and reading messages.

mod reading;
mod receipts;
mod viewing;
mod writing;

pub use reading::{HistoryPage, ReadError, Reading};
pub use writing::{Sent, Writing};
