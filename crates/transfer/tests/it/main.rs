//! A store behaves like the model after a transfer.
//!
//! The replay of random operations reopens its store now and then. Here, reopening is a transfer: the replay
//! continues on another store, and every read must give the same answer.
//!
//! - [`embedded`]: from folder to folder, many times
//! - [`on_cassandra`]: from a folder to Cassandra, and back
//! - [`personal`]: everything that users keep for themselves
//! - [`refusals`]: transfers that are refused

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod embedded;
mod on_cassandra;
mod personal;
mod refusals;
mod sites;
