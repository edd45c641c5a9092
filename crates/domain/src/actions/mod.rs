//! What people do in conversations: check → queue → decide → append → acknowledge → deliver.
//!
//! - [`action`]: what somebody wants, what came of it, and why not
//! - [`rules`]: who may do what; the one place that knows
//! - [`decide`]: what an action makes of a conversation: log entries, or a refusal
//! - [`answer`]: who waits for it
//! - [`forwarding`]: those that other nodes do
//! - [`outbox`]: the actions of one conversation that wait
//! - [`known`]: what a batch of them is decided on
//! - [`appending`]: takes them in batches, and gets what was decided into the log
//! - [`measure`]: what the metrics say of it
//!
//! An action is decided on the very state that its entry is appended to: whoever changes that state first makes the append
//! fail, and it is decided anew. So of two that contradict each other, one finds what the other has done.

mod action;
mod answer;
mod appending;
mod decide;
mod forwarding;
mod known;
mod measure;
mod outbox;
pub mod rules;

pub use action::{Action, Done, NewMessage, Refusal};
pub use answer::Answer;
pub use appending::Appending;
pub(crate) use forwarding::Lanes;
pub(crate) use outbox::Outbox;
pub use rules::{Deed, MessagePolicy};
