//! What operators and programs look at, and what a stop does to those who are sending.
//!
//! - `documents`: the API described, whole
//! - `metrics`: health and numbers
//! - `interruptions`: a stop under load

mod documents;
mod interruptions;
pub(crate) mod metrics;
