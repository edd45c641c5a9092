//! `/v1/conversations`: creating, reading, changing and deleting one. The list is in [`super::inbox`].

use axum::extract::State;
use axum::http::StatusCode;
use godwit_domain::model::page_limit;
use godwit_protocol::conversations::{
    Conversation, CreateConversation, CreatedConversation, DeleteConversation, DeleteFor, UpdateConversation,
};
use godwit_protocol::messages::LogPage;
use godwit_protocol::shape;
use godwit_protocol::{ConversationId, Seq};
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, Caller, Id, IdempotencyKey, Params, agree};
use crate::api;
use crate::http::json::Json;
use crate::problem::ApiResult;
use crate::state::ServerState;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteParams {
    /// `me`: deletes it only for the requesting user. `all`: deletes it for everyone.
    #[param(inline)]
    pub(super) r#for: DeleteFor,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteConversationParams {
    /// `me`: deletes it only for the requesting user. `all`: deletes it for everyone.
    #[param(inline)]
    r#for: DeleteFor,
    /// With `me`: the newest entry that the client knows. Later entries stay, so the call can be repeated. Without it,
    /// everything is hidden.
    up_to: Option<Seq>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogParams {
    /// The last entry that the client has; 0 for none.
    after: Seq,
    /// Entries per page, 1 to 200; default 50.
    #[param(value_type = Option<shape::PageLimit>)]
    limit: Option<u16>,
}

/// Open or create a conversation
///
/// `direct` finds or creates the conversation with a user. Two users have only one; the other user sees it with the
/// first message.
///
/// `group` and `channel` create a new conversation, which all members see at once. With a `client_id` or the header
/// `Idempotency-Key`, the same request returns what was created first.
#[utoipa::path(
    post, path = "/v1/conversations", tag = "Conversations", operation_id = "open_conversation",
    params(("Idempotency-Key" = Option<shape::ClientId>, Header, description = "The `client_id`, if the body has none")),
    request_body = CreateConversation,
    responses(
        (status = 201, description = "The conversation was created", body = CreatedConversation),
        (status = 200, description = "The conversation exists", body = CreatedConversation),
    ),
    extensions(("x-error-codes" = json!([
        "not_found", "not_with_self", "blocked", "invalid_field", "rate_limited"
    ])))
)]
pub async fn open(
    State(state): State<ServerState>,
    Caller(by): Caller,
    IdempotencyKey(key): IdempotencyKey,
    Body(mut request): Body<CreateConversation>,
) -> ApiResult<(StatusCode, Json<CreatedConversation>)> {
    if let CreateConversation::Group(new) | CreateConversation::Channel(new) = &mut request {
        new.client_id = new.client_id.take().or(key);
    }
    let (created, is_new) = api::conversations::create(&state, by.user_id, request).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(created)))
}

/// A conversation
#[utoipa::path(
    get, path = "/v1/conversations/{id}", tag = "Conversations", operation_id = "get_conversation",
    params(("id" = ConversationId, Path, description = "A conversation of the user")),
    responses((status = 200, description = "The conversation as the user sees it", body = Conversation)),
    extensions(("x-error-codes" = json!(["not_found"])))
)]
pub async fn get(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
) -> ApiResult<Json<Conversation>> {
    Ok(Json(state.app.inbox.conversation(by.user_id, id).await?))
}

/// Change a conversation
///
/// Changes the name, description, image, permissions or timer. Absent fields stay unchanged. A direct conversation has
/// only the timer.
#[utoipa::path(
    patch, path = "/v1/conversations/{id}", tag = "Conversations", operation_id = "update_conversation",
    params(("id" = ConversationId, Path, description = "A conversation of the user")),
    request_body = UpdateConversation,
    responses((status = 200, description = "The changed conversation", body = Conversation)),
    extensions(("x-error-codes" = json!([
        "not_found", "forbidden", "wrong_kind", "blocked", "invalid_field", "path_body_mismatch"
    ])))
)]
pub async fn update(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Body(request): Body<UpdateConversation>,
) -> ApiResult<Json<Conversation>> {
    agree("conversation_id", id, request.conversation_id)?;
    Ok(Json(state.app.groups.update(by.user_id, id, &request).await?))
}

/// Delete a conversation
///
/// `for=me` hides the conversation and its history up to `up_to`; it comes back with the next message. `for=all`, for
/// owners only, deletes it for everyone.
#[utoipa::path(
    delete, path = "/v1/conversations/{id}", tag = "Conversations", operation_id = "delete_conversation",
    params(("id" = ConversationId, Path, description = "A conversation of the user"), DeleteConversationParams),
    responses((status = 204, description = "It is deleted")),
    extensions(("x-error-codes" = json!(["not_found", "forbidden", "wrong_kind", "seq_ahead_of_log"])))
)]
pub async fn delete(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Params(params): Params<DeleteConversationParams>,
) -> ApiResult<StatusCode> {
    let request = DeleteConversation { conversation_id: id, r#for: params.r#for, up_to: params.up_to };
    api::conversations::delete_for(&state, by.user_id, request).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The log
///
/// Every change since a position, in order and without gaps, for a client that was away. With `truncated` the client
/// must reload the conversation. A page may have fewer entries than `limit`; it is the last if `more` is false.
#[utoipa::path(
    get, path = "/v1/conversations/{id}/log", tag = "Conversations", operation_id = "read_log",
    params(("id" = ConversationId, Path, description = "A conversation of the user"), LogParams),
    responses((status = 200, description = "One page of the log", body = LogPage)),
    extensions(("x-error-codes" = json!(["not_found", "invalid_field"])))
)]
pub async fn log(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Params(params): Params<LogParams>,
) -> ApiResult<Json<LogPage>> {
    let limit = page_limit(params.limit)?;
    Ok(Json(state.app.reading.log(by.user_id, id, params.after, limit).await?))
}
