//! Liveness and readiness, for supervisors and load balancers. Metrics have a separate port: see
//! [`crate::metrics_listener`].
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
/// Answers while the process runs.
#[utoipa::path(
    get, path = "/healthz", tag = "Operation", operation_id = "alive", security(()),
    responses((status = 200, description = "The process is alive", body = Health))
)]
pub async fn alive() -> Json<Health> {
    Json(OK)
}

/// Ready
///
/// Whether this node should receive requests: the store accepts writes, and the server is not stopping.
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
