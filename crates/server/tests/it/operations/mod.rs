//! Operation: documents, metrics, and the effects of a stop on clients that are sending.
//!
//! - `documents`: the complete API description
//! - `metrics`: health and metrics
//! - `interruptions`: a stop under load
//! - `sign_ins`: sign-ins and failed attempts in the log

mod documents;
mod examples;
mod interruptions;
pub(crate) mod metrics;
mod sign_ins;
