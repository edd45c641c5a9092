//! For supervisors and balancers: is it alive, is it ready. How it is doing is told on a port of its own: see
//! [`crate::metrics_listener`].

use axum::extract::State;
use godwit_protocol::ErrorCode;
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
