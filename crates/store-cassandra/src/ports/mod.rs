//! The ports of the domain, one file each. A method that writes passes the [gate](crate::transfer) and calls
//! the module of the same name.

mod account;
mod conversation;
mod inbox;
mod transfer;
