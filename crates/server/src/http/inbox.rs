//! The inbox: the list of conversations at `/v1/conversations`, with each member's settings and cursor.

use axum::extract::State;
use axum::http::StatusCode;
use godwit_domain::model::page_limit;
use godwit_protocol::conversations::{
    ConversationPage, MemberCursor, Membership, MoveCursor, OrderPinned, UpdateMembership,
};
use godwit_protocol::shape;
use godwit_protocol::sync::GoneList;
use godwit_protocol::{ConversationId, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, Caller, Id, Params, agree};
use crate::api;
use crate::http::json::Json;
use crate::opaque::List;
use crate::problem::ApiResult;
use crate::state::ServerState;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InboxParams {
    /// `next` of the previous page.
    #[param(value_type = Option<shape::Cursor>)]
    after: Option<String>,
    /// Conversations per page, 1 to 200; default 50.
    #[param(value_type = Option<shape::PageLimit>)]
    limit: Option<u16>,
    /// `true` lists the archived conversations, `false` (the default) the others.
    archived: Option<bool>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GoneParams {
    /// Only conversations that went away at this time or later.
    since: Timestamp,
}

/// The inbox
///
/// The first page has all pinned conversations in their order; the others follow by latest activity. A row has
/// everything that a list shows.
#[utoipa::path(
    get, path = "/v1/conversations", tag = "Conversations", operation_id = "list_conversations",
    params(InboxParams),
    responses((status = 200, description = "One page of the inbox", body = ConversationPage)),
    extensions(("x-error-codes" = json!(["invalid_field", "invalid_cursor"])))
)]
pub async fn list(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Params(params): Params<InboxParams>,
) -> ApiResult<Json<ConversationPage>> {
    let archived = params.archived.unwrap_or(false);
    let list = if archived { List::Archive } else { List::Inbox };
    let limit = page_limit(params.limit)?;
    state.rates.check_named(by.user_id, limit)?;
    let after = state.sealer.open_next(list, by.user_id, params.after.as_deref())?;
    let (conversations, next) = state.app.inbox.page(by.user_id, archived, after, limit).await?;
    Ok(Json(ConversationPage { conversations, next: state.sealer.seal_next(list, by.user_id, next) }))
}

/// Conversations that went away
///
/// Conversations that were deleted since a time, and those that the user is no longer a member of. `sync` reports the
/// same.
#[utoipa::path(
    get, path = "/v1/conversations/gone", tag = "Conversations", operation_id = "list_gone",
    params(GoneParams),
    responses((status = 200, description = "In the order in which they went away", body = GoneList))
)]
pub async fn gone(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Params(params): Params<GoneParams>,
) -> ApiResult<Json<GoneList>> {
    state.rates.check_account_log(by.user_id)?;
    Ok(Json(state.app.inbox.gone_since(by.user_id, params.since).await?))
}

/// Order the pinned conversations
///
/// Pinned conversations that are not named follow in their old order; conversations that are not pinned are ignored.
#[utoipa::path(
    put, path = "/v1/conversations/pinned", tag = "Conversations", operation_id = "order_pinned",
    request_body = OrderPinned,
    responses((status = 204, description = "The order is set")),
    extensions(("x-error-codes" = json!(["invalid_field"])))
)]
pub async fn order_pinned(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Body(request): Body<OrderPinned>,
) -> ApiResult<StatusCode> {
    api::conversations::order_pinned(&state, by.user_id, &request.conversation_ids).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pin, mute, archive, mark as unread or set a draft
///
/// Absent fields stay unchanged. Only the user sees these settings, on all devices. An archived conversation stays
/// archived when new messages arrive.
#[utoipa::path(
    patch, path = "/v1/conversations/{id}/me", tag = "Conversations", operation_id = "update_membership",
    params(("id" = ConversationId, Path, description = "A conversation of the user")),
    request_body = UpdateMembership,
    responses((status = 200, description = "The changed settings", body = Membership)),
    extensions(("x-error-codes" = json!(["not_found", "invalid_field", "list_full", "path_body_mismatch"])))
)]
pub async fn update_membership(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Body(request): Body<UpdateMembership>,
) -> ApiResult<Json<Membership>> {
    agree("conversation_id", id, request.conversation_id)?;
    Ok(Json(state.app.inbox.update_membership(by.user_id, id, request).await?))
}

/// Move the user's cursor
///
/// Reports how far the user has received and read. Cursors only move forward: an earlier position changes nothing.
/// `read` implies `delivered` and removes `marked_unread`. The answer comes when the move is durable, up to a second
/// later, because the server batches moves.
#[utoipa::path(
    put, path = "/v1/conversations/{id}/cursor", tag = "Conversations", operation_id = "move_cursor",
    params(("id" = ConversationId, Path, description = "A conversation of the user")),
    request_body = MoveCursor,
    responses((status = 200, description = "The cursor", body = MemberCursor)),
    extensions(("x-error-codes" = json!(["not_found", "seq_ahead_of_log", "path_body_mismatch"])))
)]
pub async fn move_cursor(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Body(request): Body<MoveCursor>,
) -> ApiResult<Json<MemberCursor>> {
    agree("conversation_id", id, request.conversation_id)?;
    let cursor = state.app.cursors.advance(by.user_id, id, request.delivered, request.read).await?;
    state.app.cursors.written(id, cursor).await?;
    Ok(Json(cursor))
}
