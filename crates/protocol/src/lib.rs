//! The wire format: types of requests, responses and socket frames, and nothing else.
//!
//! Read in this order:
//!
//! - [`ids`]: typed Snowflake ids and [`Seq`], the position in a conversation's log
//! - [`Position`]: a place in a history, which is either of them
//! - [`time`]: [`Timestamp`], milliseconds in memory and RFC 3339 on the wire
//! - [`limits`]: every bound of the API, with its name and its unit; [`characters`]: the characters that texts may have
//! - `shape`: these limits as JSON schemas, for the documents of the server
//! - [`error`]: the stable error codes and the problem document
//! - [`object`]: reads objects where serde would take arrays too
//! - [`accounts`], [`people`], [`conversations`], [`groups`], [`messages`], [`personal`], [`sync`]: bodies of HTTP requests
//!   and responses
//! - [`socket`]: commands, replies and events of the WebSocket, and its close codes
//!
//! This crate knows no rules (they live in `godwit-domain`) and no transport. It depends on serde and on what writes
//! numbers and times, so that clients can use it too, also on wasm32.

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
