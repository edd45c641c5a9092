//! `/v1/sync`: what changed anywhere.

use axum::extract::State;
use godwit_domain::model::page_limit;
use godwit_protocol::UserId;
use godwit_protocol::shape;
use godwit_protocol::sync::SyncPage;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Caller, Params};
use crate::http::json::Json;
use crate::opaque::List;
use crate::problem::ApiResult;
use crate::state::{ServerState, Shared};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SyncParams {
    /// `token` of the last answer. Without one everything is listed.
    #[param(value_type = Option<shape::Cursor>)]
    since: Option<String>,
    /// Items of each list in the answer, 1 to 200; 50 when absent.
    #[param(value_type = Option<shape::PageLimit>)]
    limit: Option<u16>,
}

/// Sync
///
/// Which conversations have changed or gone away since a token, and what else is new for the user. While there is `more`
/// ask again with the new token.
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

/// One page, for HTTP and for the socket.
pub(crate) async fn sync_page(
    state: &Shared,
    by: UserId,
    since: Option<&str>,
    limit: Option<u16>,
) -> ApiResult<SyncPage> {
    let limit = page_limit(limit)?;
    let since = state.sealer.open_next(List::Sync, by, since)?;
    let _place = state.admission.syncs.enter().await?;
    let (page, token) = state.app.sync.since(by, since, limit).await?;
    Ok(SyncPage { token: state.sealer.seal(List::Sync, by, token), ..page })
}
