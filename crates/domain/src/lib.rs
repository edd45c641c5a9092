//! The rules of Godwit.
//!
//! - [`model`]: entities and values; each is valid by construction
//! - [`ports`]: the traits for a store, a clock and open sockets, with their contracts
//! - [`projection`]: the state that follows from the entries of a log
//! - [`actions`]: changes of conversations: permissions, decisions, and their way into the log
//! - [`account`]: changes of accounts, and the effects that a store writes
//! - the other use cases, one module each: [`accounts`], [`sessions`], [`people`], [`inbox`], [`groups`], [`messages`],
//!   [`personal`], [`cursors`], [`sync`], [`presence`], [`sweeper`]; [`app`] puts them together
//! - shared by the use cases: [`conversations`], a cache of the newest state; [`account_log`], changes told to a user's other
//!   devices; [`profiles`], changes told to other users; [`allowances`], daily limits of one user; `consent`, who
//!   can be added to groups; `own_writes`, what disabled users must not do outside of conversations; `following`, who gets what is
//!   delivered in large conversations; `show`, entries in their wire format
//! - [`peers`]: what other nodes tell this one and ask it to do
//! - [`snowflake`]: increasing ids
//!
//! This crate knows no transport and no database: it names neither HTTP statuses nor tables. Time comes from
//! [`ports::Clock`].

pub mod account;
pub mod account_log;
pub mod accounts;
pub mod actions;
pub mod allowances;
pub mod app;
mod bounds;
pub mod concealing;
mod consent;
pub mod conversations;
pub mod cursors;
mod following;
pub mod groups;
pub mod inbox;
pub mod messages;
pub mod model;
mod own_writes;
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
