//! Accounts: users, devices, blocks, stars, hidden and scheduled messages, and the account log.
//!
//! - [`change`]: carries out the decisions of `godwit_domain::account`, the only way in which accounts change
//! - [`users`], [`devices`], [`blocks`], [`stars`], [`scheduled`]: reading and storing their parts
//! - [`names`], [`people`]: unique names, and the search index
//! - [`concealed`]: what users have deleted only for themselves
//! - [`log`]: the account log

pub(crate) mod blocks;
pub(crate) mod change;
pub(crate) mod concealed;
pub(crate) mod devices;
pub(crate) mod log;
pub(crate) mod names;
pub(crate) mod people;
pub(crate) mod scheduled;
pub(crate) mod stars;
pub(crate) mod users;
