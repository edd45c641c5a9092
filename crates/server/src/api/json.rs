//! JSON parsing and its error messages.

use godwit_protocol::object::Object;
use serde::de::DeserializeOwned;

use crate::problem::{ApiError, ApiResult};

/// The length limit of an error message about a body or frame, in characters.
const DETAIL_CHARS_MAX: usize = 300;

/// Parses the body of a request. An error names the path of the field.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> ApiResult<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed =
        serde_path_to_error::deserialize(&mut deserializer).map(|Object(value)| value).map_err(|error| {
            let path = error.path().to_string();
            let reason = without_value(&error.into_inner().to_string());
            if path == "." { reason } else { format!("{path}: {reason}") }
        });
    parsed
        .and_then(|value| deserializer.end().map(|()| value).map_err(|error| error.to_string()))
        .map_err(|reason| ApiError::invalid_request(shortened(&reason)))
}

/// The error for JSON that could not be parsed.
pub fn unreadable(error: &serde_json::Error) -> ApiError {
    ApiError::invalid_request(shortened(&without_value(&error.to_string())))
}

/// Removes the value from serde's message about a wrong type, because it may be a misplaced password: `invalid type: string
/// "hunter2", expected u64` becomes `invalid type: string, expected u64`.
fn without_value(message: &str) -> String {
    let repeats = message.starts_with("invalid type: ") || message.starts_with("invalid value: ");
    match (message.find(['"', '`']), message.rfind(", expected ")) {
        (Some(value), Some(expected)) if repeats && value < expected => {
            format!("{}{}", message[..value].trim_end(), &message[expected..])
        }
        _ => message.to_owned(),
    }
}

/// Truncates a message, because field names in the input may be long.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(DETAIL_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
