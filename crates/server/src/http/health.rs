//! For operators: is it alive, is it ready, how is it doing.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use godwit_protocol::ErrorCode;
use metrics::gauge;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::json::Json;
use crate::problem::{ApiError, ApiResult, chain};
use crate::state::ServerState;

#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    #[schema(example = "ok")]
    status: &'static str,
}

const OK: Health = Health { status: "ok" };

/// Alive
///
/// Answers as long as the process can answer at all.
#[utoipa::path(
    get, path = "/healthz", tag = "Operation", operation_id = "alive", security(()),
    responses((status = 200, description = "The process answers", body = Health))
)]
pub async fn alive() -> Json<Health> {
    Json(OK)
}

/// Ready
///
/// Whether requests should be sent to this node: the store takes writes, and the server is not stopping.
#[utoipa::path(
    get, path = "/readyz", tag = "Operation", operation_id = "ready", security(()),
    responses((status = 200, description = "The node is ready", body = Health)),
    extensions(("x-error-codes" = json!(["shutting_down", "unavailable"])))
)]
pub async fn ready(State(state): State<ServerState>) -> ApiResult<Json<Health>> {
    if *state.stopping.borrow() {
        return Err(ApiError::new(ErrorCode::ShuttingDown));
    }
    match state.store.health() {
        Ok(()) => Ok(Json(OK)),
        Err(error) => {
            let reason = chain(&error);
            Err(ApiError::from(error).with_detail(reason))
        }
    }
}

/// Metrics
///
/// In the text format of Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "Operation", operation_id = "metrics", security(()),
    responses((status = 200, description = "All metrics", body = String, content_type = "text/plain"))
)]
pub async fn metrics(State(state): State<ServerState>) -> impl IntoResponse {
    gauge!("godwit_ready").set(if state.store.health().is_ok() { 1.0 } else { 0.0 });
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], state.metrics.render())
}
