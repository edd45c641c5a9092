//! The client against scripted servers.
//!
//! - `fake`: a socket whose frames the test chooses
//! - `sample`: conversations, entries, messages, problems
//! - `http`, `socket`, `resume`, `sending`, `connecting`: the contract of each layer
//! - `chaos`, `world`: all layers against a server that loses, repeats and reorders frames at random

#![expect(clippy::unwrap_used, reason = "tests report failures by panicking")]

mod chaos;
mod connecting;
mod fake;
mod http;
mod resume;
mod sample;
mod sending;
mod socket;
mod world;
