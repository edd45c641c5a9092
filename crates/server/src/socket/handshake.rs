//! The handshake of a WebSocket (RFC 6455, section 4.2).

use axum::body::Body;
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

const VERSION: &str = "13";
/// The constant that every server appends to the key.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The answer to a WebSocket request, or the reason why it is invalid.
pub(super) fn answer(headers: &HeaderMap) -> Result<Response, &'static str> {
    if !has_word(headers, &CONNECTION, "upgrade") || !has_word(headers, &UPGRADE, "websocket") {
        return Err("the request must have the headers `connection: upgrade` and `upgrade: websocket`");
    }
    if !has_word(headers, &SEC_WEBSOCKET_VERSION, VERSION) {
        return Err("the header `sec-websocket-version` must be 13");
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).ok_or("the header `sec-websocket-key` is missing")?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let accept = HeaderValue::from_str(&accept(key.as_bytes())).map_err(|_| "the key is not readable")?;
    response.headers_mut().extend([
        (CONNECTION, HeaderValue::from_static("upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_ACCEPT, accept),
    ]);
    Ok(response)
}

/// True if a list header contains a word.
fn has_word(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
}

fn accept(key: &[u8]) -> String {
    STANDARD.encode(Sha1::new().chain_update(key).chain_update(GUID).finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_answered_as_in_the_example_of_the_standard() {
        assert_eq!(accept(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn an_incomplete_handshake_is_refused_with_the_reason() {
        let all = [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let headers = |without: &str| -> HeaderMap {
            let kept = all.iter().filter(|(name, _)| *name != without);
            kept.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
        };
        assert_eq!(answer(&headers("")).unwrap().status(), StatusCode::SWITCHING_PROTOCOLS);
        for (missing, _) in all {
            assert!(answer(&headers(missing)).is_err(), "{missing}");
        }
    }
}
