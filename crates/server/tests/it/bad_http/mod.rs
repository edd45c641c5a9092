//! What bad requests get: a problem document with the right status and a stable code, nothing stored, nothing leaked.
//!
//! - `stage`: people, and every operation of the API as OpenAPI lists it, so that none is forgotten
//! - `tokens`: who is asking
//! - `routes`: routes and methods that do not exist
//! - `bodies`: bodies that are not what is expected, of every operation that takes one
//! - `fields`: values that are not allowed
//! - `ids`: things that are not there, or that one may not see
//! - `pages`: cursors, limits, positions
//! - `broken`: what is hardly HTTP

mod bodies;
mod broken;
mod fields;
mod ids;
mod pages;
mod routes;
pub(crate) mod stage;
mod tokens;
