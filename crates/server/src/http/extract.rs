//! Extractors: the parts of a request that handlers take. An invalid request becomes a problem document.

use std::str::FromStr;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use bytes::Bytes;
use godwit_domain::sessions::Principal;
use godwit_protocol::limits::REQUEST_BODY_BYTES_MAX;
use godwit_protocol::{ErrorCode, UserId};
use serde::de::DeserializeOwned;

use crate::api::bearer::bearer_token;
use crate::api::json;
use crate::listener::Peer;
use crate::network::ClientAddress;
use crate::problem::{ApiError, ApiResult};
use crate::sign_ins::{By, authenticate};
use crate::state::ServerState;

pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A JSON body.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        if !is_json(request.headers()) {
            return Err(ApiError::new(ErrorCode::UnsupportedMediaType));
        }
        let user = request.extensions().get::<Authenticated>().cloned();
        let bytes = Bytes::from_request(received(request), state).await.map_err(|rejection| {
            if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
                ApiError::new(ErrorCode::TooLarge)
                    .with_detail(format!("the body may have at most {REQUEST_BODY_BYTES_MAX} bytes"))
            } else {
                ApiError::invalid_request("the body is incomplete")
            }
        })?;
        if let Some(Authenticated { state, user }) = user {
            state.rates.check_written(user, bytes.len())?;
        }
        json::parse(&bytes).map(Self)
    }
}

/// The query parameters. `T` refuses unknown and repeated ones.
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
                Err(ApiError::invalid_request(json::shortened(&format!("invalid query: {reason}"))))
            }
        }
    }
}

/// The id in the path. An invalid id gets the same error as one that does not exist.
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

/// The `Idempotency-Key` header, for routes that create something.
#[derive(Debug)]
pub struct IdempotencyKey(pub Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let mut values = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
        match (values.next().map(HeaderValue::to_str), values.next()) {
            (None, _) => Ok(Self(None)),
            (Some(Ok(key)), None) => Ok(Self(Some(key.to_owned()))),
            _ => Err(ApiError::invalid_request("send at most one Idempotency-Key, in ASCII")),
        }
    }
}

/// The user who sends the request, proved by a bearer token. Every request counts towards one limit of the user, and
/// changes towards another.
#[derive(Debug, Clone, Copy)]
pub struct Caller(pub Principal);

impl FromRequestParts<ServerState> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> ApiResult<Self> {
        let is_change = !parts.method.is_safe();
        authenticated(parts, state, |by| {
            state.rates.check_commands(by)?;
            if is_change { state.rates.check_changes(by) } else { Ok(()) }
        })
        .await
        .map(Self)
    }
}

/// The same for a request that sends a message. As on the socket, messages have limits of their own and count towards no
/// other.
#[derive(Debug, Clone, Copy)]
pub struct Sender(pub Principal);

impl FromRequestParts<ServerState> for Sender {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> ApiResult<Self> {
        let address = parts.extensions.get().copied().unwrap_or(ClientAddress::UNKNOWN);
        authenticated(parts, state, |by| state.rates.check_send(by, address)).await.map(Self)
    }
}

/// The user of the bearer token, if their rate limits allow the request. A refused request does not make its connection an
/// authenticated one.
async fn authenticated(
    parts: &mut Parts,
    state: &ServerState,
    check: impl FnOnce(UserId) -> ApiResult<()>,
) -> ApiResult<Principal> {
    let token = bearer_token(&parts.headers)?
        .ok_or_else(|| ApiError::new(ErrorCode::Unauthenticated).with_detail("no access token"))?;
    let address = parts.extensions.get().copied().unwrap_or(ClientAddress::UNKNOWN);
    let principal = authenticate(state, By::Request, address, token).await?;
    check(principal.user_id)?;
    if let Some(peer) = parts.extensions.get::<Peer>() {
        peer.authenticated(principal.user_id);
    }
    parts.extensions.insert(Authenticated { state: state.clone(), user: principal.user_id });
    Ok(principal)
}

/// The user of a request with a valid token.
#[derive(Debug, Clone)]
struct Authenticated {
    state: ServerState,
    user: UserId,
}

/// Lets the connection watch the body as it arrives. The bytes of unauthenticated requests are counted.
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

/// A body may repeat an id of the path, but must not contradict it.
pub(super) fn agree<T: PartialEq + Copy>(field: &'static str, path: T, body: Option<T>) -> ApiResult<()> {
    if body.is_none_or(|named| named == path) {
        Ok(())
    } else {
        Err(ApiError::new(ErrorCode::PathBodyMismatch).with_field(field))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}
