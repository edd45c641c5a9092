//! Measurements without a network: the parts of the server in one process.
//!
//! - [`world`]: the use cases on an embedded store, with sockets that have no client
//! - [`clock`]: the system clock

pub mod clock;
pub mod world;
