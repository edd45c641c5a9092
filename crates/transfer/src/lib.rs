//! Transfers all data from one store to another while servers run, and checks that both are the same.
//!
//! The target is written through the same ports that servers use, so it keeps every invariant of a store. All
//! steps are idempotent, so a transfer can be resumed.
//!
//! In reading order:
//!
//! - [`Transfer`]: from the first pass to the switch
//! - `conversations`: folds logs again; `memberships`, `accounts`: change what differs
//! - `check`: whether a part is the same on both sides
//! - [`Progress`]: what operators see, and where an interrupted transfer resumes

mod accounts;
mod check;
mod conversations;
mod error;
mod memberships;
mod paging;
mod progress;
mod transfer;

pub use error::TransferError;
pub use progress::{Phase, Progress};
pub use transfer::{Control, Transfer, abandon};
