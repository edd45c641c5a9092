//! The ports of the domain, one file each. A method hands a write to the committer or reads from a view, and
//! calls the module of the same name.

mod account;
mod conversation;
mod inbox;
mod transfer;
