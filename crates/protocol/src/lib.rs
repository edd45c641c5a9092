//! The wire format: the types of requests, responses and socket frames.
//!
//! Read in this order:
//!
//! - [`ids`]: typed Snowflake ids and [`Seq`], the position in a conversation's log
//! - [`Position`]: a position in a history, given as a message id or as a [`Seq`]
//! - [`time`]: [`Timestamp`], milliseconds in memory and RFC 3339 on the wire
//! - [`limits`]: every limit of the API, with its name and its unit; [`characters`]: the characters that texts may contain
//! - `shape`: these limits as JSON schemas, for the OpenAPI and AsyncAPI documents
//! - [`error`]: the stable error codes and the problem document
//! - [`object`]: deserializes JSON objects where serde would also accept arrays
//! - [`accounts`], [`people`], [`conversations`], [`groups`], [`messages`], [`personal`], [`sync`]: bodies of HTTP requests
//!   and responses
//! - [`socket`]: commands, replies and events of the WebSocket, and its close codes
//!
//! This crate contains no rules (they live in `godwit-domain`) and no transport. It depends only on serde and on small crates
//! that format numbers and times, so clients can use it too, including those on wasm32.

pub mod accounts;
mod any_json;
pub mod characters;
pub mod conversations;
pub mod error;
pub mod groups;
pub mod ids;
pub mod limits;
pub mod messages;
pub mod object;
pub mod people;
pub mod personal;
mod position;
#[cfg(feature = "openapi")]
pub mod shape;
pub mod socket;
pub mod sync;
pub mod time;
mod time_text;

pub use error::{ErrorCode, Problem};
pub use ids::{ConversationId, DeviceId, InviteId, MessageId, ScheduledId, Seq, UserId};
pub use position::{InvalidPosition, Position};
pub use time::Timestamp;
