//! Moves everything from one store to another while servers go on, and checks that it is the same.
//!
//! The other store is made equal through the ports that servers write by, so whatever holds for a store holds for one that
//! was moved into. All of it can be done again without harm, which is what makes it resumable.
//!
//! Read in this order:
//!
//! - [`Mover`]: from the first pass to the switch
//! - `conversations`: logs are folded again; `memberships`, `accounts`: what differs is changed
//! - `check`: whether a part is the same on both sides
//! - [`Progress`]: what people see of it, and where it goes on after an interruption

mod accounts;
mod check;
mod conversations;
mod error;
mod memberships;
mod mover;
mod paging;
mod progress;

pub use error::MoveError;
pub use mover::{Control, Mover, abandon};
pub use progress::{Phase, Progress};
