//! `/v1/messages/{id}/reaction` and `…/reactions`: each user has at most one reaction per message.

use axum::extract::State;
use godwit_domain::model::message::parse_reaction;
use godwit_domain::model::page_limit;
use godwit_protocol::MessageId;
use godwit_protocol::messages::{Message, React, ReactionPage};

use super::extract::{Body, Caller, Id, Params, agree};
use super::messages::PageParams;
use crate::http::json::Json;
use crate::opaque::List;
use crate::problem::ApiResult;
use crate::state::ServerState;

/// React
///
/// A user has one reaction per message: a new one replaces it.
#[utoipa::path(
    put, path = "/v1/messages/{id}/reaction", tag = "Messages", operation_id = "react",
    params(("id" = MessageId, Path, description = "A message of a conversation of the user")),
    request_body = React,
    responses((status = 200, description = "The changed message", body = Message)),
    extensions(("x-error-codes" = json!([
        "not_found", "blocked", "message_gone", "too_many_reactions", "invalid_field", "path_body_mismatch"
    ])))
)]
pub async fn react(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
    Body(request): Body<React>,
) -> ApiResult<Json<Message>> {
    agree("message_id", id, request.message_id)?;
    let reaction = parse_reaction(&request.reaction)?;
    Ok(Json(state.app.writing.react(by.user_id, id, Some(reaction)).await?))
}

/// Remove your reaction
#[utoipa::path(
    delete, path = "/v1/messages/{id}/reaction", tag = "Messages", operation_id = "unreact",
    params(("id" = MessageId, Path, description = "A message of a conversation of the user")),
    responses((status = 200, description = "The changed message", body = Message)),
    extensions(("x-error-codes" = json!(["not_found", "blocked", "message_gone"])))
)]
pub async fn unreact(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
) -> ApiResult<Json<Message>> {
    Ok(Json(state.app.writing.react(by.user_id, id, None).await?))
}

/// Who reacted
#[utoipa::path(
    get, path = "/v1/messages/{id}/reactions", tag = "Messages", operation_id = "list_reactions",
    params(("id" = MessageId, Path, description = "A message of a conversation of the user"), PageParams),
    responses((status = 200, description = "Reactions, ordered by user id", body = ReactionPage)),
    extensions(("x-error-codes" = json!(["not_found", "message_gone", "invalid_field", "invalid_cursor"])))
)]
pub async fn list(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
    Params(params): Params<PageParams>,
) -> ApiResult<Json<ReactionPage>> {
    let limit = page_limit(params.limit)?;
    let after = state.sealer.open_next(List::Reactions(id), by.user_id, params.after.as_deref())?;
    let (reactions, next) = state.app.reading.reactions(by.user_id, id, after, limit).await?;
    Ok(Json(ReactionPage { reactions, next: state.sealer.seal_next(List::Reactions(id), by.user_id, next) }))
}
