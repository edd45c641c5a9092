//! What operators and programs look at, and what a stop does to those who are sending.
//!
//! - `documents`: the API described, whole
//! - `metrics`: health and numbers
//! - `interruptions`: a stop under load
//! - `sign_ins`: who comes in, and who tries, in the log

mod documents;
mod examples;
mod interruptions;
pub(crate) mod metrics;
mod sign_ins;
