//! `/v1/conversations`: the inbox, and what a member does with a conversation besides writing in it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use godwit_domain::model::page_limit;
use godwit_protocol::conversations::{
    Conversation, ConversationPage, CreateConversation, MemberCursor, Membership, MoveCursor,
    UpdateMembership,
};
use godwit_protocol::messages::LogPage;
use godwit_protocol::{ConversationId, ErrorCode, Seq};
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, Caller, Id, Params};
use crate::opaque::List;
use crate::problem::{ApiError, ApiResult};
use crate::state::ServerState;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InboxParams {
    /// `next` of the page before.
    after: Option<String>,
    /// Conversations on the page, 1 to 200; 50 when absent.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u16>,
    /// `true` lists the archived conversations, `false` or nothing the others.
    archived: Option<bool>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogParams {
    /// The last entry that the client has; 0 for none.
    after: Seq,
    /// Entries on the page, 1 to 200; 50 when absent.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u16>,
}

/// Open a conversation
///
/// Finds the direct conversation with a user, or makes it. Two users have one, however often and from wherever this is
/// asked; the other one sees it with the first message.
#[utoipa::path(
    post, path = "/v1/conversations", tag = "Conversations", operation_id = "open_conversation",
    request_body = CreateConversation,
    responses(
        (status = 201, description = "It was made", body = Conversation),
        (status = 200, description = "It was there", body = Conversation),
    ),
    extensions(("x-error-codes" = json!(["not_found", "not_with_self", "blocked"])))
)]
pub async fn open(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Body(request): Body<CreateConversation>,
) -> ApiResult<(StatusCode, Json<Conversation>)> {
    let CreateConversation::Direct { user_id } = request;
    let opened = state.app.inbox.open_direct(by.user_id, user_id).await?;
    let status = if opened.made { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(opened.conversation)))
}

/// The inbox
///
/// Pinned conversations first, then the latest activity first. A row has all that a list shows.
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
    let after = state.sealer.open_next(list, by.user_id, params.after.as_deref())?;
    let (conversations, next) = state.app.inbox.page(by.user_id, archived, after, limit).await?;
    Ok(Json(ConversationPage { conversations, next: state.sealer.seal_next(list, by.user_id, next) }))
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

/// Pin, mute, archive
///
/// What is absent stays as it is. Only the user sees these settings, on all devices.
#[utoipa::path(
    patch, path = "/v1/conversations/{id}/me", tag = "Conversations", operation_id = "update_membership",
    params(("id" = ConversationId, Path, description = "A conversation of the user")),
    request_body = UpdateMembership,
    responses((status = 200, description = "The settings as they are now", body = Membership)),
    extensions(("x-error-codes" = json!(["not_found", "invalid_field"])))
)]
pub async fn update_membership(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Body(request): Body<UpdateMembership>,
) -> ApiResult<Json<Membership>> {
    Ok(Json(state.app.inbox.update_membership(by.user_id, id, request).await?))
}

/// Move the own cursor
///
/// Says how far the user has received and read. Cursors only move forward: a position that was passed already changes
/// nothing. What is read is delivered too.
#[utoipa::path(
    put, path = "/v1/conversations/{id}/cursor", tag = "Conversations", operation_id = "move_cursor",
    params(("id" = ConversationId, Path, description = "A conversation of the user")),
    request_body = MoveCursor,
    responses((status = 200, description = "Where the cursor is now", body = MemberCursor)),
    extensions(("x-error-codes" = json!(["not_found", "seq_ahead_of_log", "path_body_mismatch"])))
)]
pub async fn move_cursor(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Body(request): Body<MoveCursor>,
) -> ApiResult<Json<MemberCursor>> {
    agree(id, request.conversation_id)?;
    let cursor = state.app.cursors.advance(by.user_id, id, request.delivered, request.read).await?;
    Ok(Json(cursor))
}

/// The log
///
/// Every change since a position, in order and without gaps: how a client that was away catches up. `truncated` says that
/// the client must load the conversation anew.
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

/// A body may repeat which conversation it is about, but not contradict the path.
pub(super) fn agree(path: ConversationId, body: Option<ConversationId>) -> ApiResult<()> {
    if body.is_none_or(|id| id == path) {
        Ok(())
    } else {
        Err(ApiError::new(ErrorCode::PathBodyMismatch).with_field("conversation_id"))
    }
}
