//! Stores that everything was moved into do what the model does.
//!
//! The replay of random operations opens its store again now and then. Here that is a move: the store that it goes on with is
//! another one, and everything that can be read has to be as before.
//!
//! - [`embedded`]: from folder to folder, many times
//! - `cassandra`: from a folder into a cluster, and back
//! - [`personal`]: what users keep for themselves, all of it at once
//! - [`refusals`]: what cannot be moved, and is not

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod cassandra;
mod embedded;
mod personal;
mod places;
mod refusals;
