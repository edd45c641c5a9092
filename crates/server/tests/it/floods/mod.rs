//! Too much of something, and that the others do not notice.
//!
//! - `rates`: requests and commands
//! - `sockets`: connections that are opened, and left, and dropped
//!
//! Half-open requests, and more connections than allowed, are in `connections`.

mod rates;
mod sockets;
