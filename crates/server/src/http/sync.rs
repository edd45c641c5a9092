//! `/v1/sync`: changes in all conversations since a token.

use axum::extract::State;
use godwit_protocol::shape;
use godwit_protocol::sync::SyncPage;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Caller, Params};
use crate::api::sync::sync_page;
use crate::http::json::Json;
use crate::problem::ApiResult;
use crate::state::ServerState;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SyncParams {
    /// `token` of the last answer. Without it, everything is listed.
    #[param(value_type = Option<shape::Cursor>)]
    since: Option<String>,
    /// Items per list in the answer, 1 to 200; default 50.
    #[param(value_type = Option<shape::PageLimit>)]
    limit: Option<u16>,
}

/// Sync
///
/// Conversations that have changed or gone away since a token, and other news for the user. While the answer has
/// `more`, ask again with the new token.
#[utoipa::path(
    get, path = "/v1/sync", tag = "Sync", operation_id = "sync",
    params(SyncParams),
    responses((status = 200, description = "What changed", body = SyncPage)),
    extensions(("x-error-codes" = json!(["invalid_field", "invalid_cursor"])))
)]
pub async fn changes(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Params(params): Params<SyncParams>,
) -> ApiResult<Json<SyncPage>> {
    Ok(Json(sync_page(&state, by.user_id, params.since.as_deref(), params.limit).await?))
}
