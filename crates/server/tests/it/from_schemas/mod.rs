//! Tests that the server keeps to the API documents: it accepts whatever the schemas allow, and answers as they describe.
//! Requests are generated from `/openapi.json` and `/asyncapi.json`, so that a new operation is tested without new code.
//!
//! - `patterns`, `values`: generators of valid requests; `validate`: a validator for schemas
//! - `scene`: people and data that the requests refer to
//! - `operations`: every HTTP operation; `commands`: every socket command
//! - `beyond`: values just beyond the limits of the schemas

mod beyond;
mod commands;
mod operations;
mod patterns;
mod scene;
mod validate;
mod values;

use godwit_client::protocol::ErrorCode;
use rand::rngs::StdRng;
use serde_json::Value;

use self::validate::Schemas;
use crate::seed::seeded;

/// Errors that a valid request never gets.
const UNEXPECTED: &[ErrorCode] = &[
    ErrorCode::InvalidRequest,
    ErrorCode::InvalidField,
    ErrorCode::InvalidCursor,
    ErrorCode::TooLarge,
    ErrorCode::UnsupportedMediaType,
    ErrorCode::PathBodyMismatch,
    ErrorCode::NoSuchRoute,
    ErrorCode::MethodNotAllowed,
    ErrorCode::RateLimited,
    ErrorCode::Unavailable,
    ErrorCode::ShuttingDown,
    ErrorCode::Internal,
    ErrorCode::Unknown,
];

/// The same requests in every run, unless `GODWIT_SEED` is set.
fn random() -> StdRng {
    seeded(20_261_118)
}

fn schemas(document: &Value) -> Schemas {
    document["components"]["schemas"].as_object().unwrap().clone()
}

fn code_of(problem: &Value) -> ErrorCode {
    serde_json::from_value(problem["code"].clone()).unwrap()
}
