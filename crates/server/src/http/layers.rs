//! Layers around every request: log, metrics, time limit, headers, body limit.

use std::any::Any;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue, Method, Response as HttpResponse};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use godwit_protocol::ErrorCode;
use godwit_protocol::limits::REQUEST_BODY_BYTES_MAX;
use metrics::histogram;
use tower_http::catch_panic::CatchPanicLayer;
use tracing::Instrument;

use crate::network::ClientAddress;
use crate::problem::ApiError;
use crate::state::ServerState;

/// The time limit of a request, including the arrival of the body. A send that has started continues.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The id of the request in the log and in the answer.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// A browser must not render an API answer as a page.
const NO_PAGE: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// Wraps the routes in all layers. The outermost layer is the last one.
pub fn all<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    router
        .fallback(async || ApiError::new(ErrorCode::NoSuchRoute))
        .method_not_allowed_fallback(async || ApiError::new(ErrorCode::MethodNotAllowed))
        .layer(DefaultBodyLimit::max(REQUEST_BODY_BYTES_MAX))
        .layer(axum::middleware::from_fn(time_limit))
        .layer(catch_panic())
        .layer(axum::middleware::from_fn(headers))
        .layer(axum::middleware::from_fn(observe))
}

/// Logs and measures requests. Omits the query string, which may contain names that people searched for.
pub async fn observe(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    let request_id = format!("{:016x}", rand::random::<u64>());
    let span = tracing::info_span!("request", id = %request_id, method, route);
    async {
        let mut response = next.run(request).await;
        let (status, took) = (response.status(), started.elapsed());
        histogram!(
            "godwit_http_seconds",
            "method" => method, "route" => route.to_owned(), "status" => status.as_str().to_owned()
        )
        .record(took);
        tracing::debug!(status = status.as_u16(), took_ms = took.as_millis() as u64, "answered");
        if let Ok(id) = HeaderValue::from_str(&request_id) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        response
    }
    .instrument(span)
    .await
}

/// Sets security and cache headers, unless the handler has set its own.
pub async fn headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(NO_PAGE);
    response
}

pub async fn time_limit(request: Request, next: Next) -> Response {
    match tokio::time::timeout(REQUEST_TIMEOUT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            tracing::warn!("a request timed out");
            ApiError::new(ErrorCode::Unavailable).with_detail("the request timed out").into_response()
        }
    }
}

/// Limits the rate of pages, which are public and large.
pub async fn pages(
    State(state): State<ServerState>,
    address: ClientAddress,
    request: Request,
    next: Next,
) -> Response {
    match state.rates.check_pages(address) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

/// A panic in a handler costs only one answer. The panic hook has logged it.
pub fn catch_panic() -> CatchPanicLayer<fn(Box<dyn Any + Send>) -> Response> {
    CatchPanicLayer::custom(panicked as fn(Box<dyn Any + Send>) -> Response)
}

fn panicked(_: Box<dyn Any + Send>) -> HttpResponse<axum::body::Body> {
    ApiError::new(ErrorCode::Internal).into_response()
}

/// Clients can send any method; only these get a time series.
fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
