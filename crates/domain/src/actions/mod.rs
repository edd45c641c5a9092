//! Actions: changes of conversations by users. Every action passes through these stages, one module each:
//!
//! ```text
//! submit ──► forward ──► admit ──► worker + queue ──► append ──────────────────────► deliver
//!            another     member?   batches            │ ▲ head moved: again         acknowledge, tell
//!            node                                     ▼ │                           peers and sockets
//!                                           prepare ► repeat ► decision
//!                                           look up   answer   pure: entries,
//!                                           facts     retries  effects, refusals
//! ```
//!
//! - [`action`], [`refusal`], [`answer`]: the request, the reasons for a refusal, and the receiver of the outcome
//! - [`submit`]: the entry point
//! - [`forward`]: sends actions to the node that prefers their conversation, in order
//! - [`admit`]: checks membership on the node that executes the action
//! - [`worker`]: puts jobs into the [`queue`] of their conversation, and drains it in batches
//! - [`append`]: the compare-and-set loop: prepares, decides and appends a batch until the log accepts it
//! - [`prepare`]: reads the facts that a decision needs
//! - [`repeat`]: answers retries of messages
//! - [`decision`]: decides a batch; a pure function. [`rules`] has the permissions
//! - [`deliver`]: acknowledges the append and tells other nodes and open sockets
//! - [`measure`]: the metrics
//!
//! An action is decided on exactly the state that its entry is appended to. If another writer changes that state first, the
//! append fails and the action is decided again: of two contradicting actions, the second one sees the first.

mod action;
mod admit;
mod answer;
mod append;
mod decision;
mod deliver;
mod forward;
mod job;
mod measure;
mod prepare;
mod queue;
mod refusal;
mod repeat;
pub mod rules;
mod submit;
mod worker;

pub use action::{Action, Done, NewMessage};
pub use answer::Answer;
pub(crate) use queue::ActionQueue;
pub use refusal::Refusal;
pub use rules::{Deed, MessagePolicy};
pub(crate) use submit::ActionParts;
pub use submit::Actions;
