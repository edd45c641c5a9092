//! Bad frames: each gets an error frame with a stable code, or a close code if the connection cannot continue.
//!
//! - `frames`: bytes that are no commands
//! - `commands`: commands that are not allowed
//! - `signing_in`: commands before the sign-in; repeated, late and expired sign-ins
//! - `heartbeats`: silent clients

mod commands;
mod frames;
mod heartbeats;
mod signing_in;

use godwit_client::protocol::{ErrorCode, Problem};
use serde_json::Value;

use crate::raw_http::assert_is_whole;

/// Asserts that the frame is a complete error with this code for this id.
fn assert_error(frame: &Value, id: Option<u64>, code: ErrorCode) -> Problem {
    let context = frame.to_string();
    assert_eq!(frame.get("id").and_then(Value::as_u64), id, "{context}");
    let problem: Problem =
        serde_json::from_value(frame["error"].clone()).unwrap_or_else(|_| panic!("{context}"));
    assert_eq!(problem.code, code, "{context}");
    assert_is_whole(&problem, &context);
    problem
}
