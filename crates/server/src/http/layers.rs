//! What holds for every request.

use std::any::Any;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue, Method, Response as HttpResponse};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use godwit_protocol::ErrorCode;
use metrics::histogram;
use tower_http::catch_panic::CatchPanicLayer;
use tracing::Instrument;

use crate::network::ClientAddress;
use crate::problem::ApiError;
use crate::state::ServerState;

/// How long an answer may take, the arrival of the body included. A send that was begun goes on.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Names the request in the log and in the answer, so that one can be found by the other.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Nothing that the API answers is to be shown as a page.
const NO_PAGE: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// Logs and measures. The query string is left out: it may hold names that people searched for.
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

/// Headers that tell browsers and caches what not to do. A handler that knows better has set its own.
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
            tracing::warn!("a request took too long and was given up");
            ApiError::new(ErrorCode::Unavailable).with_detail("this took too long").into_response()
        }
    }
}

/// Pages are the same for everybody, and large.
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

/// A bug in one handler costs one answer, and the panic hook has logged it.
pub fn catch_panic() -> CatchPanicLayer<fn(Box<dyn Any + Send>) -> Response> {
    CatchPanicLayer::custom(panicked as fn(Box<dyn Any + Send>) -> Response)
}

fn panicked(_: Box<dyn Any + Send>) -> HttpResponse<axum::body::Body> {
    ApiError::new(ErrorCode::Internal).into_response()
}

/// Anybody can send any method; only these get a time series.
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
