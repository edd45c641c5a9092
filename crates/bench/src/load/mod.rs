//! Load on a real server, through its WebSocket and HTTP API. Each scenario is a command.
//!
//! - [`pairs`]: how many messages go through, and how soon they come; [`rate`]: how soon, at a fixed rate
//! - [`group`]: messages that many get; [`idle`]: connections that do nothing
//! - [`history`]: pages of what was said before; [`inbox`]: the list of a user's conversations
//! - [`resume`]: many who were away come back at once; [`mixed`]: a day in minutes
//! - [`growth`]: what all of that costs when there is more of everything
//! - [`run`], [`span`]: what the scenarios share: the server, warming up, measuring, the result
//! - [`sessions`]: users on their sockets, and their conversations
//! - [`closed_loop`], [`receiving`]: who sends when, and what is done with what comes
//! - [`requests`]: the same for requests over HTTP
//! - [`traffic`]: messages under way; [`check`]: whether all came, once and in order
//! - [`report`]: what was found out, to read and as JSON
//!
//! One thread does everything that is measured, so that the other cores are the server's.

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
