//! Too much of something, and that the others do not notice.
//!
//! - `rates`: requests and commands
//! - `sockets`: connections that are opened, and left, and dropped
//! - `strangers`: what somebody without an account can take from others
//! - `sign_ins`: passwords: who may try how often, and whose turn it is
//! - `own`: what somebody with an account can take from others
//!
//! Half-open requests, and more connections than allowed, are in `connections`.

mod own;
mod rates;
mod sign_ins;
mod sockets;
mod strangers;
