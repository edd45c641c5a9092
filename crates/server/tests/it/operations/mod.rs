//! What operators and programs look at, and what a stop or a full disk does to those who are sending.
//!
//! - `documents`: the API described, whole
//! - `metrics`: health and numbers
//! - `interruptions`: a stop, and a full disk, under load

mod documents;
mod interruptions;
mod metrics;
