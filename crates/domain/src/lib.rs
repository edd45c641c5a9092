//! The rules of Godwit.
//!
//! - [`model`]: the nouns, and the checks that make a value of them valid
//! - [`ports`]: what the rules need from a store, a clock, the open sockets; each contract stands on its trait
//! - [`projection`]: what follows from the entries of a log
//! - [`actions`]: what people do in conversations, who may do it, and how it gets into the log
//! - the other use cases, one module each: [`accounts`], [`sessions`], [`people`], [`inbox`], [`groups`], [`messages`],
//!   [`personal`], [`cursors`], [`sync`], [`presence`], [`sweeper`]; [`app`] puts them together
//! - [`conversations`], [`account_log`], [`profiles`], [`allowances`] and `show`: what the use cases share: the newest state
//!   of the conversations in use, telling a user's devices about each other and others about the user, what one user may do
//!   in a day, and entries as the wire has them
//! - [`peers`]: what other nodes tell this one and ask it to do
//! - [`snowflake`]: ids that rise
//!
//! This crate knows no transport and no database: it names neither HTTP statuses nor tables. Time comes from
//! [`ports::Clock`].

pub mod account_log;
pub mod accounts;
pub mod actions;
pub mod allowances;
pub mod app;
mod bounds;
pub mod concealing;
pub mod conversations;
pub mod cursors;
pub mod groups;
pub mod inbox;
pub mod messages;
pub mod model;
pub mod peers;
pub mod people;
pub mod personal;
pub mod ports;
pub mod presence;
pub mod profiles;
pub mod projection;
pub mod sessions;
mod show;
pub mod sight;
pub mod snowflake;
pub mod sweeper;
pub mod sync;

pub use app::{App, Parts};
