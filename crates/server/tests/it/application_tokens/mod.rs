//! Tokens of the application that embeds the server.
//!
//! - `keys`: signs as the application does
//! - `accepted`: every algorithm, users created on first sight, devices
//! - `refused`: tokens that the application has not signed, or that are invalid
//! - `rotation`: keys that change while the server runs

mod accepted;
pub(crate) mod keys;
mod refused;
mod rotation;
