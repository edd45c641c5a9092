//! Many connections on one thread, and their protocols. Independent of any messenger.
//!
//! - [`net`]: all connections, and the loop that serves them
//! - [`connection`]: one connection with its buffers
//! - [`poller`]: the readiness of connections
//! - [`frame`]: WebSocket frames; [`http`]: requests and answers
//! - [`blocking`]: requests that are not measured
//! - [`files`]: the limit of connections
//!
//! No code here allocates per message: incoming data is read into one shared buffer and parsed in place; outgoing data is
//! collected in a buffer of the connection that is reused.

pub(crate) mod blocking;
pub(crate) mod connection;
pub(crate) mod files;
pub(crate) mod frame;
pub(crate) mod http;
pub(crate) mod net;
mod poller;
#[cfg(test)]
mod tests;

pub(crate) use net::{Net, Receiver};
