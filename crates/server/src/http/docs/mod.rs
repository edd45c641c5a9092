//! The documentation that the server brings along. It needs nothing from elsewhere, so it works without the internet.
//!
//! - `/openapi.json`: [`openapi`]
//! - `/docs`: a page that shows it
//! - `/docs/errors`: [`errors`]

pub mod errors;
pub mod openapi;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use serde_json::Value;

/// The pages load their own script and style and `/openapi.json`, and nothing else.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);
/// A new version of the server may bring new ones, so caches ask first.
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/openapi.json", get(openapi::serve))
        .route("/docs", get(async || page(include_str!("page.html"))))
        .route("/docs/errors", get(async || page(errors::page())))
        .route("/docs/page.js", get(async || asset("text/javascript", include_str!("page.js"))))
        .route("/docs/page.css", get(async || asset("text/css", include_str!("page.css"))))
}

/// The bytes of a document, which are made once: it is large, and anybody may ask for it.
pub(crate) fn encoded(document: &Value) -> Bytes {
    document.to_string().into()
}

pub(crate) fn json_document(document: &Bytes) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], document.clone()).into_response()
}

fn page(html: impl Into<String>) -> impl IntoResponse {
    ([(CONTENT_SECURITY_POLICY, PAGE_POLICY), (CACHE_CONTROL, REVALIDATE)], Html(html.into()))
}

fn asset(content_type: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, HeaderValue::from_static(content_type)), (CACHE_CONTROL, REVALIDATE)], text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::asyncapi;

    /// The copies in the repository, which others read without running the server.
    const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");

    #[tokio::test]
    async fn documents_are_encoded_once() {
        let bytes =
            async |response: Response| axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        for (first, second) in [
            (openapi::serve().await, openapi::serve().await),
            (asyncapi::serve().await, asyncapi::serve().await),
        ] {
            assert_eq!(first.headers()[CONTENT_TYPE], "application/json");
            let (first, second) = (bytes(first).await, bytes(second).await);
            assert!(serde_json::from_slice::<Value>(&first).unwrap().is_object());
            assert_eq!(first.as_ptr(), second.as_ptr(), "both are the same bytes");
        }
    }

    #[test]
    fn documents_in_the_repository_are_up_to_date() {
        for (name, document) in
            [("openapi.json", openapi::document()), ("asyncapi.json", asyncapi::document())]
        {
            let path = format!("{DOCS}{name}");
            if std::env::var_os("UPDATE_DOCS").is_some() {
                std::fs::write(&path, serde_json::to_string_pretty(&document).unwrap() + "\n").unwrap();
            }
            let copy = std::fs::read(&path).unwrap_or_default();
            assert!(
                serde_json::from_slice::<Value>(&copy).is_ok_and(|copy| copy == document),
                "docs/{name} is stale: UPDATE_DOCS=1 cargo test -p godwit-server documents"
            );
        }
    }
}
