//! Floods: too much of something must not affect others.
//!
//! - `rates`: requests and commands
//! - `sockets`: sockets that are opened, abandoned and dropped
//! - `strangers`: the resources that a client without an account can take
//! - `sign_ins`: password attempts: their limits and their queue
//! - `answers`: large answers that nobody reads
//! - `own`: the resources that a user with an account can take
//!
//! `connections` covers half-open requests and more connections than allowed.

mod answers;
mod own;
mod rates;
mod sign_ins;
mod sockets;
mod strangers;
