//! `/v1/devices`: the signed-in clients of the user.

use axum::extract::State;
use axum::http::StatusCode;
use godwit_protocol::DeviceId;
use godwit_protocol::accounts::DeviceList;

use super::extract::{Caller, Id};
use crate::http::json::Json;
use crate::problem::{ApiError, ApiResult};
use crate::state::ServerState;

/// List devices
#[utoipa::path(
    get, path = "/v1/devices", tag = "Sessions", operation_id = "list_devices",
    responses((status = 200, description = "The user's signed-in clients", body = DeviceList))
)]
pub async fn list(State(state): State<ServerState>, Caller(by): Caller) -> ApiResult<Json<DeviceList>> {
    Ok(Json(DeviceList { devices: state.app.sessions.devices(by).await? }))
}

/// Revoke a device
///
/// Ends its session and closes its sockets at once.
#[utoipa::path(
    delete, path = "/v1/devices/{id}", tag = "Sessions", operation_id = "revoke_device",
    params(("id" = DeviceId, Path, description = "A device of the user")),
    responses((status = 204, description = "The session has ended")),
    extensions(("x-error-codes" = json!(["not_found"])))
)]
pub async fn revoke(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<DeviceId>,
) -> ApiResult<StatusCode> {
    let ended = state.app.sessions.revoke(by, id).await?;
    if ended { Ok(StatusCode::NO_CONTENT) } else { Err(ApiError::not_found()) }
}
