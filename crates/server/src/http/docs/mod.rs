//! The documentation that the server serves. It loads nothing from other hosts, so it works without the internet.
//!
//! - `/openapi.json`: [`openapi`]
//! - `/docs`: a page that shows it
//! - `/docs/errors`: [`errors`]

pub mod errors;
pub mod openapi;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{Html, IntoResponse};
use axum::routing::get;

/// The pages load their own script and style and `/openapi.json`, and nothing else.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);
/// A new version of the server may have new pages, so caches revalidate.
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/openapi.json", get(openapi::serve))
        .route("/docs", get(async || page(include_str!("page.html"))))
        .route("/docs/errors", get(async || page(errors::page())))
        .route("/docs/page.js", get(async || asset("text/javascript", include_str!("page.js"))))
        .route("/docs/page.css", get(async || asset("text/css", include_str!("page.css"))))
}

fn page(html: &'static str) -> impl IntoResponse {
    ([(CONTENT_SECURITY_POLICY, PAGE_POLICY), (CACHE_CONTROL, REVALIDATE)], Html(html))
}

fn asset(content_type: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, HeaderValue::from_static(content_type)), (CACHE_CONTROL, REVALIDATE)], text)
}
