//! Reading and writing frames.

use bytes::Bytes;
use godwit_domain::actions::{Done, Refusal};
use godwit_protocol::ErrorCode;
use godwit_protocol::socket::{CommandFrame, ErrorFrame, Event, OkFrame};
use serde::{Deserialize, Serialize};

use crate::api::json::unreadable;
use crate::problem::ApiError;

/// A frame from the client, or its error with the id for the answer.
pub(super) fn parse(text: &[u8]) -> Result<CommandFrame, (Option<u64>, ApiError)> {
    /// The part of a malformed frame that may still be readable.
    #[derive(Deserialize)]
    struct OnlyId {
        id: u64,
    }

    serde_json::from_slice(text).map_err(|error| {
        let id = serde_json::from_slice(text).ok().map(|OnlyId { id }| id);
        (id, unreadable(&error))
    })
}

pub(super) fn ok<T: Serialize>(id: u64, ok: &T) -> Bytes {
    encode(&OkFrame { id, ok })
}

/// The reply to a `send`.
pub(super) fn sent(id: u64, outcome: Result<Done, Refusal>) -> Bytes {
    let done = match outcome {
        Ok(done) => done,
        Err(refusal) => return error(Some(id), refusal.into()),
    };
    match done.message() {
        Some(message) => ok(id, message),
        None => error(Some(id), ApiError::new(ErrorCode::Internal)),
    }
}

pub(super) fn error(id: Option<u64>, error: ApiError) -> Bytes {
    encode(&ErrorFrame { id, error: error.into_problem() })
}

pub(super) fn event(event: &Event) -> Bytes {
    encode(event)
}

fn encode<T: Serialize>(frame: &T) -> Bytes {
    godwit_delivery::frame::text(frame).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_frame_is_answered_with_its_id_if_it_has_one() {
        let (id, error) = parse(br#"{"id":7,"send":{"text":5}}"#).unwrap_err();
        assert_eq!((id, error.into_problem().code), (Some(7), ErrorCode::InvalidRequest));
        for broken in ["", "{", "[]", "null", r#"{"id":"7","ping":{}}"#] {
            assert_eq!(parse(broken.as_bytes()).unwrap_err().0, None, "{broken:?}");
        }
    }

    #[test]
    fn errors_do_not_repeat_the_input() {
        let secret =
            parse(br#"{"id":7,"sign_in":"a token in the wrong place"}"#).unwrap_err().1.into_problem();
        assert!(!secret.detail.unwrap().contains("token"));
        let long = format!(r#"{{"id":7,"{}":1}}"#, "x".repeat(60_000));
        assert!(parse(long.as_bytes()).unwrap_err().1.into_problem().detail.unwrap().len() < 1_000);
    }
}
