//! Accounts: users, devices, blocks, stars, hidden and scheduled messages, and the account log.
//!
//! - [`change`]: carries out the decisions of `godwit_domain::account`, the only way in which accounts change
//! - [`users`], [`devices`], [`blocks`], [`personal`]: reading and storing their parts
//! - [`concealed`]: what users have deleted only for themselves
//! - [`log`]: the account log

pub(crate) mod blocks;
pub(crate) mod change;
pub(crate) mod concealed;
pub(crate) mod devices;
pub(crate) mod log;
pub(crate) mod personal;
pub(crate) mod users;
