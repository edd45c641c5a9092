//! Tokens of the application that embeds the server.
//!
//! - `keys`: signing as the application does
//! - `accepted`: every algorithm, users made on first sight, devices
//! - `refused`: everything that is not the application's word
//! - `rotation`: keys that change while the server runs

mod accepted;
pub(crate) mod keys;
mod refused;
mod rotation;
