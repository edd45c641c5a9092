//! Many connections on one thread, and what goes over them. Knows no messenger.
//!
//! - [`net`]: all connections, and the loop that serves them
//! - [`connection`]: one of them: what waits to be written, what has come half
//! - [`poller`]: which of them have something to do
//! - [`frame`]: WebSocket frames; [`http`]: requests and answers
//! - [`blocking`]: requests for what is not measured
//! - [`files`]: how many connections there can be
//!
//! Nothing here allocates for a message: what comes is read into one buffer that all connections share and is looked at in
//! place; what goes is gathered in a buffer of the connection that is used again.

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
