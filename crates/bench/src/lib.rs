//! What is measured without a network: the parts of the server in one process.
//!
//! - [`world`]: the use cases on an embedded store, and sockets that nobody is behind
//! - [`clock`]: the time of this machine

pub mod clock;
pub mod world;
