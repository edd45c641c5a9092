//! `/v1/conversations/{id}/pins` and `/v1/messages/{id}/pin`: messages that are pinned for all members.

use axum::extract::State;
use axum::http::StatusCode;
use godwit_protocol::messages::PinList;
use godwit_protocol::{ConversationId, MessageId};

use super::extract::{Caller, Id, Params};
use super::messages::AfterParams;
use crate::http::json::Json;
use crate::opaque::List;
use crate::problem::ApiResult;
use crate::state::ServerState;

/// Pinned messages
#[utoipa::path(
    get, path = "/v1/conversations/{id}/pins", tag = "Messages", operation_id = "list_pins",
    params(("id" = ConversationId, Path, description = "A conversation of the user"), AfterParams),
    responses((status = 200, description = "Most recently pinned first", body = PinList)),
    extensions(("x-error-codes" = json!(["not_found", "invalid_cursor"])))
)]
pub async fn list(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Params(params): Params<AfterParams>,
) -> ApiResult<Json<PinList>> {
    let list = List::Pins(id);
    let after = state.sealer.open_next(list, by.user_id, params.after.as_deref())?;
    let (pins, next) = state.app.reading.pins(by.user_id, id, after.unwrap_or(0)).await?;
    Ok(Json(PinList { next: state.sealer.seal_next(list, by.user_id, next), ..pins }))
}

/// Pin a message
///
/// Pinning it again changes nothing.
#[utoipa::path(
    put, path = "/v1/messages/{id}/pin", tag = "Messages", operation_id = "pin_message",
    params(("id" = MessageId, Path, description = "A message of a conversation of the user")),
    responses((status = 204, description = "It is pinned")),
    extensions(("x-error-codes" = json!(["not_found", "forbidden", "blocked", "message_gone", "too_many_pins"])))
)]
pub async fn pin(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
) -> ApiResult<StatusCode> {
    state.app.writing.pin(by.user_id, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Unpin a message
///
/// Unpinning one that is not pinned changes nothing.
#[utoipa::path(
    delete, path = "/v1/messages/{id}/pin", tag = "Messages", operation_id = "unpin_message",
    params(("id" = MessageId, Path, description = "A message of a conversation of the user")),
    responses((status = 204, description = "It is not pinned")),
    extensions(("x-error-codes" = json!(["not_found", "forbidden", "blocked"])))
)]
pub async fn unpin(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
) -> ApiResult<StatusCode> {
    state.app.writing.unpin(by.user_id, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
