//! Open sockets, and the delivery of events to them.
//!
//! - [`outgoing`]: the bounded queue of one socket
//! - [`socket`]: one open socket
//! - `followers`: the sockets of members of large conversations
//! - [`hub`]: all sockets of this process
//! - [`heaviest`](mod@heaviest): who is disconnected when too much waits for all together
//! - [`sending`]: encodes and sends events, and is the [`Delivery`](godwit_domain::ports::Delivery) port of a
//!   single server
//! - [`frame`]: WebSocket frames
//!
//! Nothing here waits for a slow reader. A socket with a full queue is closed, and its client resumes.

mod followers;
pub mod frame;
pub mod heaviest;
pub mod hub;
pub mod outgoing;
pub mod sending;
mod sharded;
pub mod socket;

pub use heaviest::{Waiting, heaviest};
pub use hub::{Hub, HubConfig};
pub use outgoing::{Outgoing, Step};
pub use sending::{EntryFrames, EntryRun, LessFrame, Share};
pub use socket::Socket;
