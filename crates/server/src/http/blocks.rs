//! `/v1/blocks`: users whom the user has blocked.

use axum::extract::State;
use axum::http::StatusCode;
use godwit_domain::model::page_limit;
use godwit_protocol::UserId;
use godwit_protocol::people::UserPage;
use godwit_protocol::shape;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Caller, Id, Params};
use crate::http::json::Json;
use crate::opaque::List;
use crate::problem::ApiResult;
use crate::state::ServerState;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BlocksParams {
    /// `next` of the previous page.
    #[param(value_type = Option<shape::Cursor>)]
    after: Option<String>,
    /// Users per page, 1 to 200; default 50.
    #[param(value_type = Option<shape::PageLimit>)]
    limit: Option<u16>,
}

/// Blocked users
#[utoipa::path(
    get, path = "/v1/blocks", tag = "People", operation_id = "list_blocks",
    params(BlocksParams),
    responses((status = 200, description = "Blocked users, ordered by id", body = UserPage)),
    extensions(("x-error-codes" = json!(["invalid_field", "invalid_cursor"])))
)]
pub async fn list(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Params(params): Params<BlocksParams>,
) -> ApiResult<Json<UserPage>> {
    let limit = page_limit(params.limit)?;
    state.rates.check_named(by.user_id, limit)?;
    let after = state.sealer.open_next(List::Blocks, by.user_id, params.after.as_deref())?;
    let (users, next) = state.app.people.blocked(by.user_id, after, limit).await?;
    Ok(Json(UserPage { users, next: state.sealer.seal_next(List::Blocks, by.user_id, next) }))
}

/// Block a user
///
/// The two users can no longer message each other. Blocking a user again changes nothing.
#[utoipa::path(
    put, path = "/v1/blocks/{user_id}", tag = "People", operation_id = "block_user",
    params(("user_id" = UserId, Path, description = "The user to block")),
    responses((status = 204, description = "The user is blocked")),
    extensions(("x-error-codes" = json!(["not_found", "not_with_self", "too_many_blocks"])))
)]
pub async fn block(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(user): Id<UserId>,
) -> ApiResult<StatusCode> {
    state.app.people.block(by.user_id, user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Unblock a user
///
/// Unblocking a user who is not blocked changes nothing.
#[utoipa::path(
    delete, path = "/v1/blocks/{user_id}", tag = "People", operation_id = "unblock_user",
    params(("user_id" = UserId, Path, description = "The user to unblock")),
    responses((status = 204, description = "The user is not blocked")),
    extensions(("x-error-codes" = json!(["not_found"])))
)]
pub async fn unblock(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(user): Id<UserId>,
) -> ApiResult<StatusCode> {
    state.app.people.unblock(by.user_id, user).await?;
    Ok(StatusCode::NO_CONTENT)
}
