//! What bad frames get: an error frame with a stable code and the connection kept, or a close code where it cannot be.
//!
//! - `frames`: bytes that are no commands
//! - `commands`: commands that are not allowed
//! - `signing_in`: before, twice, too late, expired
//! - `heartbeats`: who stays silent

mod commands;
mod frames;
mod heartbeats;
mod signing_in;

use godwit_client::protocol::{ErrorCode, Problem};
use serde_json::Value;

use crate::raw_http::assert_is_whole;

/// The frame is an error with this code, whole, for this id.
fn assert_error(frame: &Value, id: Option<u64>, code: ErrorCode) -> Problem {
    let context = frame.to_string();
    assert_eq!(frame.get("id").and_then(Value::as_u64), id, "{context}");
    let problem: Problem =
        serde_json::from_value(frame["error"].clone()).unwrap_or_else(|_| panic!("{context}"));
    assert_eq!(problem.code, code, "{context}");
    assert_is_whole(&problem, &context);
    problem
}
