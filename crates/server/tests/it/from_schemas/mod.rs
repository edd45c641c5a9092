//! The documents of the API keep their word: whatever their schemas allow, the server takes, and what it answers is what they
//! describe. Requests are made from `/openapi.json` and `/asyncapi.json`, so that a new operation is tried without a line
//! here.
//!
//! - `patterns`, `values`: requests that the schemas allow; `validate`: whether something is what a schema describes
//! - `scene`: people and things for the requests to be about
//! - `operations`: every operation of HTTP; `commands`: every command of the socket
//! - `beyond`: what is one more than the schemas allow

mod beyond;
mod commands;
mod operations;
mod patterns;
mod scene;
mod validate;
mod values;

use godwit_client::protocol::ErrorCode;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::Value;

use self::validate::Schemas;

/// What no request is answered with that keeps to the documents.
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

/// The same requests in every run, unless `GODWIT_SEED` says otherwise.
fn random() -> StdRng {
    let seed = std::env::var("GODWIT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_118);
    println!("GODWIT_SEED={seed}");
    StdRng::seed_from_u64(seed)
}

fn schemas(document: &Value) -> Schemas {
    document["components"]["schemas"].as_object().unwrap().clone()
}

fn code_of(problem: &Value) -> ErrorCode {
    serde_json::from_value(problem["code"].clone()).unwrap()
}
