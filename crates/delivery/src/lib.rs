//! Open sockets, and how events reach them.
//!
//! - [`outgoing`]: the bounded queue of one socket
//! - [`socket`]: one open socket as the rest of the server sees it
//! - `followers`: those of the members of large conversations
//! - [`hub`]: all sockets of this process
//! - [`sending`]: what goes to them, and the [`Delivery`](godwit_domain::ports::Delivery) port of a server that is alone
//! - [`frame`]: what is written to a socket
//!
//! Nothing here waits for a slow reader: a socket whose queue is full is closed, and its client resumes.

mod followers;
pub mod frame;
pub mod hub;
pub mod outgoing;
pub mod sending;
mod sharded;
pub mod socket;

pub use hub::{Hub, HubConfig};
pub use outgoing::{Outgoing, Step};
pub use sending::{EntryFrames, LessFrame, Share};
pub use socket::Socket;
