//! Transfers of all data to another store, or from one.
//!
//! `tracker`: what a transfer means for writes: they mark what they change, and at the end they are refused.

pub(crate) mod tracker;

#[cfg(test)]
pub(crate) use tracker::FORGOTTEN_AT_ONCE_MAX;
pub(crate) use tracker::{Refused, Tracker};
