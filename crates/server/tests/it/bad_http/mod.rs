//! Bad requests: each gets a problem document with the right status and a stable code, changes nothing, and leaks nothing.
//!
//! - `stage`: people, and every operation of the API as OpenAPI lists it, so that none is forgotten
//! - `tokens`: missing and invalid tokens
//! - `routes`: routes and methods that do not exist
//! - `bodies`: invalid bodies, for every operation with a body
//! - `fields`: values that are not allowed
//! - `ids`: things that do not exist, or that the user may not see
//! - `pages`: cursors, limits, positions
//! - `broken`: input that is hardly HTTP

mod bodies;
mod broken;
mod fields;
mod ids;
mod pages;
mod routes;
pub(crate) mod stage;
mod tokens;
