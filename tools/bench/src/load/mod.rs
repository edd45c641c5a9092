//! Load on a real server, through its WebSocket and HTTP API. Each scenario is a command.
//!
//! - [`pairs`]: throughput and latency of messages; [`rate`]: latency at a fixed rate
//! - [`group`]: messages to groups; [`idle`]: idle connections
//! - [`history`]: pages of the history; [`inbox`]: the list of a user's conversations
//! - [`resume`]: many returning clients at once; [`mixed`]: a day in minutes
//! - [`growth`]: the cost of all that as the data grows
//! - [`run`], [`span`]: the parts that scenarios share: the server, warm-up, measurement, result
//! - [`sessions`]: users on their sockets, and their conversations
//! - [`closed_loop`], [`receiving`]: sending, and processing of incoming frames
//! - [`requests`]: the same for HTTP requests
//! - [`traffic`]: messages in flight; [`check`]: whether all arrived, once and in order
//! - [`report`]: the results, as text and as JSON
//!
//! A single thread does all the work of a measurement, which leaves the other cores to the server.

pub(crate) mod check;
pub(crate) mod closed_loop;
pub(crate) mod group;
pub(crate) mod growth;
pub(crate) mod history;
pub(crate) mod idle;
pub(crate) mod inbox;
pub(crate) mod mixed;
pub(crate) mod pairs;
pub(crate) mod rate;
mod receiving;
pub(crate) mod report;
mod requests;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod sessions;
mod span;
#[cfg(test)]
mod tests;
pub(crate) mod traffic;
