//! The web client, if it was built into the server, and otherwise a page that says so.

use axum::Router;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, REFERRER_POLICY, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use godwit_web::{ASSETS, Asset, INDEX};

/// The client connects only to its own server and loads nothing from other hosts.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; \
     media-src 'self' blob:; connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
);
/// Other windows have no access to this one.
const OPENER_POLICY: (HeaderName, HeaderValue) =
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin"));
/// Other sites must not see the addresses of conversations.
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

const NOT_BUILT: &str = "\
Godwit, a messenger server.

This one was built without its web client: with Node.js 18 installed, `make run` builds both.

/docs            the HTTP API, to read
/docs/errors     every error code
/openapi.json    the HTTP API, for programs
/asyncapi.json   the WebSocket at /v1/ws, for programs
/healthz         alive?
/readyz          ready for traffic?
";

pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    routes_of(ASSETS)
}

fn routes_of<S: Clone + Send + Sync + 'static>(assets: &'static [Asset]) -> Router<S> {
    let serve = |asset: &'static Asset| get(async move |headers: HeaderMap| answer(asset, &headers));
    let Some(index) = assets.iter().find(|asset| asset.path == INDEX) else {
        return Router::new().route("/", get(async || NOT_BUILT));
    };
    let others = assets.iter().filter(|asset| asset.path != INDEX);
    others.fold(Router::new().route("/", serve(index)), |router, asset| {
        router.route(&format!("/{}", asset.path), serve(asset))
    })
}

fn answer(asset: &'static Asset, request: &HeaderMap) -> Response {
    let (encoding, bytes) = encoded(asset, request);
    let mut response = if is_known(asset, request) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut response = bytes.into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
        if let Some(encoding) = encoding {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        response
    };
    let headers = response.headers_mut();
    headers.insert(ETAG, HeaderValue::from_static(asset.tag));
    headers.insert(CACHE_CONTROL, if asset.is_immutable { FOR_EVER } else { REVALIDATE });
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(REFERRER_POLICY, NO_REFERRER);
    let (name, value) = OPENER_POLICY;
    headers.insert(name, value);
    response
}

/// True if the client has the current version.
fn is_known(asset: &Asset, request: &HeaderMap) -> bool {
    let known = request.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
    known.split(',').map(str::trim).any(|tag| tag == "*" || tag == asset.tag)
}

/// The smallest encoding that the client accepts.
fn encoded(asset: &'static Asset, request: &HeaderMap) -> (Option<&'static str>, &'static [u8]) {
    let accepted = request.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    [("br", asset.brotli), ("gzip", asset.gzip)]
        .into_iter()
        .filter(|(encoding, _)| takes(accepted, encoding))
        .find_map(|(encoding, bytes)| Some((Some(encoding), bytes?)))
        .unwrap_or((None, asset.plain))
}

fn takes(accepted: &str, encoding: &str) -> bool {
    accepted.split(',').any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let is_refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0_f32));
        name.trim().eq_ignore_ascii_case(encoding) && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use tower::ServiceExt;

    use super::*;

    static BUILT: &[Asset] = &[
        Asset {
            path: "assets/main-1234.js",
            content_type: "text/javascript; charset=utf-8",
            tag: "W/\"1\"",
            is_immutable: true,
            plain: b"plain",
            gzip: Some(b"gzip"),
            brotli: Some(b"brotli"),
        },
        Asset {
            path: INDEX,
            content_type: "text/html; charset=utf-8",
            tag: "W/\"2\"",
            is_immutable: false,
            plain: b"<!doctype html>",
            gzip: None,
            brotli: None,
        },
    ];

    async fn ask(path: &str, headers: &[(HeaderName, &str)]) -> (StatusCode, HeaderMap, String) {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let answer = routes_of::<()>(BUILT).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let (parts, body) = answer.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (parts.status, parts.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn files_have_the_smallest_accepted_encoding() {
        for (accepted, encoding, body) in [
            ("", None, "plain"),
            ("gzip, deflate, br", Some("br"), "brotli"),
            ("gzip;q=1.0, br;q=0", Some("gzip"), "gzip"),
            ("identity", None, "plain"),
            ("GZIP", Some("gzip"), "gzip"),
        ] {
            let (status, headers, found) = ask("/assets/main-1234.js", &[(ACCEPT_ENCODING, accepted)]).await;
            assert_eq!((status, found.as_str()), (StatusCode::OK, body), "{accepted}");
            assert_eq!(headers.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap()), encoding);
            assert_eq!(headers[CONTENT_TYPE], "text/javascript; charset=utf-8");
            assert!(headers[CACHE_CONTROL].to_str().unwrap().contains("immutable"));
        }
    }

    #[tokio::test]
    async fn the_page_is_revalidated_and_sent_again_after_a_change() {
        let (status, headers, body) = ask("/", &[]).await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, "<!doctype html>"));
        assert_eq!(headers[CACHE_CONTROL], "no-cache");
        assert!(!headers[CONTENT_SECURITY_POLICY].to_str().unwrap().contains("unsafe"));
        let (status, headers, body) = ask("/", &[(IF_NONE_MATCH, "W/\"0\", W/\"2\"")]).await;
        assert_eq!((status, body.as_str()), (StatusCode::NOT_MODIFIED, ""));
        assert_eq!(headers[ETAG], "W/\"2\"");
        assert_eq!(ask("/", &[(IF_NONE_MATCH, "\"0\"")]).await.0, StatusCode::OK);
    }
}
