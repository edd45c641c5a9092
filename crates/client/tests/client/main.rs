//! The client against servers that do what a test tells them.
//!
//! - `fake`: a socket that the test answers by hand, frame by frame
//! - `sample`: conversations, entries, messages, problems
//! - `http`, `socket`, `resume`, `sending`, `connecting`: what each layer promises
//! - `chaos`, `world`: all of it at once, against a server that loses, repeats and reorders at random

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and so has what it is made of")]

mod chaos;
mod connecting;
mod fake;
mod http;
mod resume;
mod sample;
mod sending;
mod socket;
mod world;
