//! `/v1/stars` and `/v1/messages/{id}/star`: messages that a user has starred. No other user sees them.

use axum::extract::State;
use axum::http::StatusCode;
use godwit_domain::model::page_limit;
use godwit_protocol::MessageId;
use godwit_protocol::personal::StarPage;

use super::extract::{Caller, Id, Params};
use super::messages::PageParams;
use crate::http::json::Json;
use crate::opaque::List;
use crate::problem::ApiResult;
use crate::state::ServerState;

/// Starred messages
///
/// Most recently starred first. A page may have fewer messages than requested and still be followed by another, because
/// messages that the user can no longer see are left out.
#[utoipa::path(
    get, path = "/v1/stars", tag = "Messages", operation_id = "list_stars",
    params(PageParams),
    responses((status = 200, description = "One page of messages", body = StarPage)),
    extensions(("x-error-codes" = json!(["invalid_field", "invalid_cursor"])))
)]
pub async fn list(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Params(params): Params<PageParams>,
) -> ApiResult<Json<StarPage>> {
    let limit = page_limit(params.limit)?;
    // They are read one by one, from as many conversations.
    state.rates.check_named(by.user_id, limit)?;
    let after = state.sealer.open_next(List::Stars, by.user_id, params.after.as_deref())?;
    let (messages, next) = state.app.personal.stars(by.user_id, after, limit).await?;
    Ok(Json(StarPage { messages, next: state.sealer.seal_next(List::Stars, by.user_id, next) }))
}

/// Star a message
///
/// Starring it again changes nothing.
#[utoipa::path(
    put, path = "/v1/messages/{id}/star", tag = "Messages", operation_id = "star_message",
    params(("id" = MessageId, Path, description = "A message of a conversation of the user")),
    responses((status = 204, description = "It is starred")),
    extensions(("x-error-codes" = json!(["not_found", "message_gone", "list_full"])))
)]
pub async fn star(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
) -> ApiResult<StatusCode> {
    state.app.personal.star(by.user_id, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Unstar a message
///
/// Unstarring one that is not starred changes nothing.
#[utoipa::path(
    delete, path = "/v1/messages/{id}/star", tag = "Messages", operation_id = "unstar_message",
    params(("id" = MessageId, Path, description = "A message")),
    responses((status = 204, description = "It is not starred")),
    extensions(("x-error-codes" = json!(["not_found"])))
)]
pub async fn unstar(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
) -> ApiResult<StatusCode> {
    state.app.personal.unstar(by.user_id, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
