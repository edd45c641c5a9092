//! Transfers of all data to another store, or from one.
//!
//! - `tracker`: what a transfer means for writes: they mark what they change, and at the end they are refused
//! - `trails`: cursors with the times of their moves

pub(crate) mod tracker;
pub(crate) mod trails;

#[cfg(test)]
pub(crate) use tracker::FORGOTTEN_AT_ONCE_MAX;
pub(crate) use tracker::{Refused, Tracker};
