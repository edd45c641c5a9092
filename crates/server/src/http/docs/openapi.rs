//! The description of the HTTP API, generated from the annotations of the handlers.
//!
//! A handler lists its own error codes in `x-error-codes`. This module adds the codes that every operation of its kind can
//! return. The statuses come from [`crate::problem`], so that there is a single table.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use godwit_protocol::{ErrorCode, Problem, shape};
use serde_json::{Map, Value, json};
use utoipa::{PartialSchema, ToSchema};

use crate::api::document::{encoded, json_document};
use crate::api::schemas;
use crate::http::api;
use crate::problem::{PROBLEM_JSON, is_temporary, meaning, status};

const ERROR_CODES: &str = "x-error-codes";

const DESCRIPTION: &str = "\
A messenger server. Ids are decimal numbers in strings, times are RFC 3339 in UTC, and list cursors are opaque.

Most operations need `Authorization: Bearer <access token>`, with a token of the server (register or sign in) or of the \
application that embeds it. Failed requests get an `application/problem+json` answer; [/docs/errors](/docs/errors) explains \
every `code`. Only malformed HTTP (400), a head that is too large (431) and a connection beyond the limits (503) get an \
empty answer.

A client can repeat a call that got no answer. What it creates has a `client_id`, and the same one returns what was created \
first. Setting or removing something twice changes nothing. `docs/guides/repeating-calls.md` says for every operation what \
the second call does.

The server accepts whatever the schemas allow, except reserved handles and easily guessed passwords (422). Where JSON \
Schema has no keyword, extensions help: `x-seconds-from-now` says how far ahead a time must lie, `x-at-most-one-of` and \
`x-exactly-one-of` name parameters that exclude each other, and `x-error-codes` lists the errors of an operation. Every \
answer has the header `X-Request-Id`, which identifies its request in the server's log.

Live events come over the WebSocket at `/v1/ws`, described in [/asyncapi.json](/asyncapi.json).";

const TAGS: &[(&str, &str)] = &[
    ("Accounts", "Registration and the user's own profile"),
    ("Sessions", "Signing in and out, devices"),
    ("People", "Finding and blocking users"),
    ("Conversations", "The inbox, groups and channels, settings, cursors, the log"),
    ("Members", "Members, roles, bans and invite links"),
    ("Messages", "Sending, reading, editing, reactions, pins, stars, scheduled messages"),
    ("Sync", "Changes while a client was away"),
    ("Operation", "Health"),
];

/// `GET /openapi.json`
pub async fn serve() -> Response {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| encoded(&document()));
    json_document(&DOCUMENT)
}

/// The whole document.
pub fn document() -> Value {
    let mut document = json!(api().into_openapi());
    document["info"] = json!({
        "title": "Godwit",
        "version": env!("CARGO_PKG_VERSION"),
        "description": DESCRIPTION,
        "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
    });
    document["tags"] =
        TAGS.iter().map(|(name, about)| json!({ "name": name, "description": about })).collect();
    document["security"] = json!([{ "bearer": [] }]);
    let components = &mut document["components"];
    components["securitySchemes"] = json!({ "bearer": { "type": "http", "scheme": "bearer" } });
    components["schemas"][&*Problem::name()] = json!(Problem::schema());
    components["schemas"][&*ErrorCode::name()] = json!(ErrorCode::schema());
    let mut schemas = components["schemas"].as_object().cloned().unwrap_or_default();
    add_shapes(&document, &mut schemas);
    schemas::complete(&mut schemas);
    for operation in operations(&mut document) {
        complete(operation, &schemas);
    }
    document["components"]["schemas"] = schemas.into();
    document
}

/// Adds schemas that only parameters refer to, which the derives do not collect.
fn add_shapes(document: &Value, schemas: &mut Map<String, Value>) {
    let text = document.to_string();
    for (name, schema) in shape::all() {
        if text.contains(&format!("#/components/schemas/{name}\"")) {
            schemas.entry(name).or_insert_with(|| json!(schema));
        }
    }
}

fn operations(document: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    let paths = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    paths.filter_map(Value::as_object_mut).flat_map(Map::values_mut).filter_map(Value::as_object_mut)
}

/// Adds the errors that the handler does not list and a response for each status, and completes the schema of the body.
fn complete(operation: &mut Map<String, Value>, schemas: &Map<String, Value>) {
    let parameters = operation.get("parameters").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(body) = operation.get_mut("requestBody") {
        let schema = &mut body["content"]["application/json"]["schema"];
        *schema = schemas::without_what_the_path_says(schema.take(), &parameters, schemas);
    }
    let mut codes: Vec<ErrorCode> = operation.remove(ERROR_CODES).map(known_codes).unwrap_or_default();
    let is_open = operation.get("security").is_some_and(|security| *security == json!([{}]));
    if !is_open {
        codes.extend([ErrorCode::Unauthenticated, ErrorCode::TokenExpired, ErrorCode::AccountDisabled]);
    }
    let has_body = operation.contains_key("requestBody");
    if has_body {
        codes.extend([ErrorCode::InvalidRequest, ErrorCode::TooLarge, ErrorCode::UnsupportedMediaType]);
    }
    if takes_query(operation) {
        codes.push(ErrorCode::InvalidRequest);
    }
    if !is_open || has_body {
        codes.extend([ErrorCode::RateLimited, ErrorCode::Unavailable]);
    }
    codes.push(ErrorCode::Internal);
    let responses = operation.entry("responses").or_insert_with(|| json!({}));
    for (status, codes) in by_status(&codes) {
        responses[status.to_string()] = failure(&codes);
    }
    let mut names: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    operation.insert(ERROR_CODES.into(), json!(names));
}

/// An unknown name becomes `unknown`, which a test refuses.
fn known_codes(names: Value) -> Vec<ErrorCode> {
    serde_json::from_value(names).unwrap_or_default()
}

fn takes_query(operation: &Map<String, Value>) -> bool {
    let parameters = operation.get("parameters").and_then(Value::as_array);
    parameters.is_some_and(|all| all.iter().any(|parameter| parameter["in"] == "query"))
}

fn by_status(codes: &[ErrorCode]) -> BTreeMap<u16, Vec<ErrorCode>> {
    let mut statuses = BTreeMap::<u16, Vec<ErrorCode>>::new();
    for code in codes {
        let same = statuses.entry(status(*code).as_u16()).or_default();
        if !same.contains(code) {
            same.push(*code);
        }
    }
    statuses
}

fn failure(codes: &[ErrorCode]) -> Value {
    let lines: Vec<String> = codes.iter().map(|code| format!("`{code}`: {}", meaning(*code))).collect();
    let schema = json!({ "$ref": format!("#/components/schemas/{}", Problem::name()) });
    let mut response =
        json!({ "description": lines.join("\n\n"), "content": { PROBLEM_JSON: { "schema": schema } } });
    if codes.iter().any(|code| is_temporary(*code)) {
        response["headers"]["Retry-After"] = json!({
            "description": "Seconds to wait before retrying; the same as `retry_after` in the body",
            "schema": { "type": "integer", "minimum": 0 },
        });
    }
    if codes.iter().any(|code| status(*code) == StatusCode::UNAUTHORIZED) {
        response["headers"]["WWW-Authenticate"] =
            json!({ "description": "Always `Bearer`", "schema": { "type": "string" } });
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openapi_describes_every_operation_fully() {
        let mut document = document();
        let mut ids = Vec::new();
        for operation in operations(&mut document) {
            let id = operation["operationId"].as_str().unwrap().to_owned();
            assert!(
                operation["summary"].as_str().is_some_and(|text| !text.is_empty()),
                "{id} has no summary"
            );
            assert!(operation["tags"].as_array().is_some_and(|tags| tags.len() == 1), "{id} has no tag");
            let codes: Vec<ErrorCode> = serde_json::from_value(operation[ERROR_CODES].clone()).unwrap();
            assert!(!codes.contains(&ErrorCode::Unknown), "{id} names an error code that does not exist");
            for code in codes {
                let response = &operation["responses"][status(code).as_str()];
                let text = response["description"].as_str().unwrap();
                assert!(text.contains(code.as_str()), "{id} does not explain {code}");
            }
            let answers = operation["responses"].as_object().unwrap().keys();
            assert!(answers.into_iter().any(|status| status.starts_with('2')), "{id} never succeeds");
            ids.push(id);
        }
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "two operations have the same id");
    }

    #[test]
    fn openapi_references_nothing_that_is_missing() {
        fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(fields) => {
                    found.extend(fields.get("$ref").and_then(Value::as_str));
                    fields.values().for_each(|value| references(value, found));
                }
                Value::Array(items) => items.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        for reference in found {
            let pointer = reference.trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{reference} is not in the document");
        }
    }
}
