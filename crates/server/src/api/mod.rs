//! The code that HTTP and the socket share.
//!
//! - [`conversations`], [`messages`], [`sync`], [`invites`]: calls that combine use cases
//! - [`bearer`]: the token of an `Authorization` header
//! - [`json`]: parsing of JSON and its error messages
//! - [`document`], [`schemas`]: the shared parts of `/openapi.json` and `/asyncapi.json`

pub mod bearer;
pub mod conversations;
pub mod document;
pub mod invites;
pub mod json;
pub mod messages;
pub mod schemas;
pub mod sync;
