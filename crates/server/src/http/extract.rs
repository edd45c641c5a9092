//! What handlers take from a request. Whatever is wrong with it becomes a problem document.

use std::str::FromStr;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use bytes::Bytes;
use godwit_domain::sessions::Principal;
use godwit_protocol::ErrorCode;
use godwit_protocol::limits::REQUEST_BODY_BYTES_MAX;
use godwit_protocol::object::Object;
use serde::de::DeserializeOwned;

use crate::listener::Peer;
use crate::network::ClientAddress;
use crate::problem::{ApiError, ApiResult};
use crate::state::ServerState;

pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What is said about a body that cannot be read, in characters: names of fields in it may be long.
const DETAIL_CHARS_MAX: usize = 300;

/// A body of JSON.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        if !is_json(request.headers()) {
            return Err(ApiError::new(ErrorCode::UnsupportedMediaType));
        }
        let bytes = Bytes::from_request(received(request), state).await.map_err(|rejection| {
            if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
                ApiError::new(ErrorCode::TooLarge)
                    .with_detail(format!("a body has at most {REQUEST_BODY_BYTES_MAX} bytes"))
            } else {
                ApiError::invalid_request("the body did not arrive whole")
            }
        })?;
        parse_json(&bytes).map(Self)
    }
}

/// The parameters of the query. Unknown and repeated ones are refused by `T`.
#[derive(Debug)]
pub struct Params<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Self(params)),
            Err(rejection) => {
                let text = rejection.body_text();
                let reason = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
                Err(ApiError::invalid_request(shortened(&format!("in the query: {reason}"))))
            }
        }
    }
}

/// The id in the path. One that cannot exist is treated like one that does not.
#[derive(Debug)]
pub struct Id<T>(pub T);

impl<T: FromStr, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let text =
            Path::<String>::from_request_parts(parts, state).await.map_err(|_| ApiError::not_found())?;
        text.parse().map(Self).map_err(|_| ApiError::not_found())
    }
}

/// Both ids in a path.
#[derive(Debug)]
pub struct Ids<A, B>(pub A, pub B);

impl<A: FromStr, B: FromStr, S: Send + Sync> FromRequestParts<S> for Ids<A, B> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let texts = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Path((first, second)) = texts.map_err(|_| ApiError::not_found())?;
        match (first.parse(), second.parse()) {
            (Ok(first), Ok(second)) => Ok(Self(first, second)),
            _ => Err(ApiError::not_found()),
        }
    }
}

/// The `Idempotency-Key` header, where something is made that a retry must not make twice.
#[derive(Debug)]
pub struct IdempotencyKey(pub Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let mut values = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
        match (values.next().map(HeaderValue::to_str), values.next()) {
            (None, _) => Ok(Self(None)),
            (Some(Ok(key)), None) => Ok(Self(Some(key.to_owned()))),
            _ => Err(ApiError::invalid_request("there is one Idempotency-Key at most, in ASCII")),
        }
    }
}

/// Who is asking, proved by a bearer token. Everything that a user asks for counts towards one limit.
#[derive(Debug, Clone, Copy)]
pub struct Caller(pub Principal);

impl FromRequestParts<ServerState> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> ApiResult<Self> {
        let token = bearer_token(&parts.headers)?
            .ok_or_else(|| ApiError::new(ErrorCode::Unauthenticated).with_detail("no token was sent"))?;
        let principal = state.app.sessions.authenticate(token).await?;
        state.rates.check_commands(principal.user_id)?;
        if !parts.method.is_safe() {
            state.rates.check_changes(principal.user_id)?;
        }
        // After the rate limits: what is refused must not hold a place.
        if let Some(peer) = parts.extensions.get::<Peer>() {
            peer.authenticated(principal.user_id);
        }
        parts.extensions.insert(Authenticated);
        Ok(Self(principal))
    }
}

/// A valid token came with the request.
#[derive(Debug, Clone, Copy)]
struct Authenticated;

/// The body is watched by the connection as it arrives, and counted where nobody is known to send it.
fn received(request: Request) -> Request {
    let Some(peer) = request.extensions().get::<Peer>().cloned() else { return request };
    let address = request.extensions().get().copied().unwrap_or(ClientAddress::UNKNOWN);
    let is_anonymous = request.extensions().get::<Authenticated>().is_none();
    request.map(|body| peer.receive(body, is_anonymous.then_some(address)))
}

impl<S: Send + Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        Ok(parts.extensions.get().copied().unwrap_or(Self::UNKNOWN))
    }
}

/// A body may repeat what it is about, but not contradict the path.
pub(super) fn agree<T: PartialEq + Copy>(field: &'static str, path: T, body: Option<T>) -> ApiResult<()> {
    if body.is_none_or(|named| named == path) {
        Ok(())
    } else {
        Err(ApiError::new(ErrorCode::PathBodyMismatch).with_field(field))
    }
}

/// The token of an `Authorization: Bearer …` header; none without such a header, a problem with a broken one.
pub fn bearer_token(headers: &HeaderMap) -> ApiResult<Option<&str>> {
    let malformed = || {
        ApiError::new(ErrorCode::Unauthenticated)
            .with_detail("the header must be `Authorization: Bearer <token>`")
    };
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return if headers.contains_key(AUTHORIZATION) { Err(malformed()) } else { Ok(None) };
    };
    let text = value.to_str().map_err(|_| malformed())?;
    let (scheme, token) = text.split_once(' ').ok_or_else(malformed)?;
    let token = token.trim();
    let is_bearer = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && !token.contains(' ');
    if is_bearer { Ok(Some(token)) } else { Err(malformed()) }
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> ApiResult<T> {
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

/// What is wrong with JSON that could not be read.
pub(crate) fn unreadable(error: &serde_json::Error) -> ApiError {
    ApiError::invalid_request(shortened(&without_value(&error.to_string())))
}

/// What serde says about a value of a wrong type repeats the value, and that may be a password that was put in the wrong
/// place: `invalid type: string "hunter2", expected u64` becomes `invalid type: string, expected u64`.
fn without_value(message: &str) -> String {
    let repeats = message.starts_with("invalid type: ") || message.starts_with("invalid value: ");
    match (message.find(['"', '`']), message.rfind(", expected ")) {
        (Some(value), Some(expected)) if repeats && value < expected => {
            format!("{}{}", message[..value].trim_end(), &message[expected..])
        }
        _ => message.to_owned(),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(DETAIL_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
