//! The bearer token of a request or handshake.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use godwit_protocol::ErrorCode;

use crate::problem::{ApiError, ApiResult};

/// The token of an `Authorization: Bearer …` header. `None` without such a header; an error if it is malformed.
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
