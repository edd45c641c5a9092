//! The rules of Godwit.
//!
//! - [`model`]: the nouns, and the checks that make a value of them valid
//! - [`ports`]: what the rules need from a store, a clock, the open sockets; each contract stands on its trait
//! - the use cases, one module each: [`accounts`], [`sessions`], [`people`], [`inbox`], [`messages`], [`cursors`],
//!   [`sync`], [`presence`]; [`app`] puts them together
//! - [`conversations`] and [`account_log`]: what the use cases share: the newest state of the conversations in use, and
//!   telling a user's devices about each other
//! - [`snowflake`]: ids that rise
//!
//! This crate knows no transport and no database: it names neither HTTP statuses nor tables. Time comes from
//! [`ports::Clock`].

pub mod account_log;
pub mod accounts;
pub mod app;
pub mod conversations;
pub mod cursors;
pub mod inbox;
pub mod messages;
pub mod model;
pub mod people;
pub mod ports;
pub mod presence;
pub mod sessions;
pub mod snowflake;
pub mod sync;

pub use app::{App, Parts};
