//! Messages: `/v1/conversations/{id}/messages` and `/v1/messages/{id}`.

use axum::extract::State;
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use godwit_domain::model::{Draft, InvalidField, page_limit};
use godwit_protocol::messages::{
    EditList, EditMessage, Message, MessagePage, ReadHistory, ReceiptList, SendMessage, ThreadPage,
};
use godwit_protocol::shape;
use godwit_protocol::{ConversationId, InvalidPosition, MessageId, Position, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;

use super::conversations::DeleteParams;
use super::extract::{Body, Caller, Id, Params, Sender, agree};
use crate::api;
use crate::http::json::Json;
use crate::opaque::List;
use crate::problem::ApiResult;
use crate::state::ServerState;

/// Marks the answer to a retry.
const IDEMPOTENT_REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryParams {
    /// Messages before this one: the id of a message, or a seq.
    #[param(value_type = Option<shape::PositionText>)]
    before: Option<String>,
    /// Messages after this one: the id of a message, or a seq.
    #[param(value_type = Option<shape::PositionText>)]
    after: Option<String>,
    /// Messages around this one, including it: the id of a message, or a seq.
    #[param(value_type = Option<shape::PositionText>)]
    around: Option<String>,
    /// Messages sent before this time.
    before_time: Option<Timestamp>,
    /// Messages per page, 1 to 200; default 50.
    #[param(value_type = Option<shape::PageLimit>)]
    limit: Option<u16>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// `next` of the previous page.
    #[param(value_type = Option<shape::Cursor>)]
    pub(super) after: Option<String>,
    /// Items per page, 1 to 200; default 50.
    #[param(value_type = Option<shape::PageLimit>)]
    pub(super) limit: Option<u16>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AfterParams {
    /// `next` of the previous page.
    #[param(value_type = Option<shape::Cursor>)]
    pub(super) after: Option<String>,
}

/// Send a message
///
/// The message is durable when the answer comes. Sending it again with the same `client_id` returns the original with
/// `Idempotent-Replay: true`, so a client without an answer can simply retry.
#[utoipa::path(
    post, path = "/v1/conversations/{id}/messages", tag = "Messages", operation_id = "send_message",
    params(("id" = ConversationId, Path, description = "A conversation of the user")),
    request_body(content = SendMessage, example = json!({"client_id": "7b1c-1", "kind": "text", "text": "Hello!"})),
    responses(
        (status = 201, description = "The message", body = Message),
        (status = 200, description = "The existing message with this client_id", body = Message,
            headers(("Idempotent-Replay" = bool, description = "`true` if this request sent nothing"))),
    ),
    extensions(("x-error-codes" = json!([
        "not_found", "invalid_field", "path_body_mismatch", "forbidden", "blocked", "reply_not_found",
        "forward_not_found"
    ])))
)]
pub async fn send(
    State(state): State<ServerState>,
    Sender(by): Sender,
    Id(id): Id<ConversationId>,
    Body(request): Body<SendMessage>,
) -> ApiResult<Response> {
    agree("conversation_id", id, request.conversation_id)?;
    if request.forwarded_from.is_some() {
        state.rates.check_forward(by.user_id)?;
    }
    let sent = state.app.writing.send(by.user_id, id, Draft::parse(request)?).await?;
    Ok(if sent.repeated {
        (StatusCode::OK, [(IDEMPOTENT_REPLAY, "true")], Json(sent.message)).into_response()
    } else {
        (StatusCode::CREATED, Json(sent.message)).into_response()
    })
}

/// History
///
/// Returns the newest messages, or those at a position. Use at most one of `before`, `after`, `around` and
/// `before_time`. A page always starts with its oldest message.
///
/// The history has messages, and notices as messages of kind `system` with a `notice`. Edits, reactions and deletions
/// are already applied to their messages. A page may have fewer messages than `limit`; `more_before` and `more_after`
/// say whether there are more.
#[utoipa::path(
    get, path = "/v1/conversations/{id}/messages", tag = "Messages", operation_id = "read_history",
    params(("id" = ConversationId, Path, description = "A conversation of the user"), HistoryParams),
    responses((status = 200, description = "One page of the history", body = MessagePage)),
    extensions(
        ("x-error-codes" = json!(["not_found", "invalid_field"])),
        ("x-at-most-one-of" = json!(["before", "after", "around", "before_time"])),
    )
)]
pub async fn history(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Params(params): Params<HistoryParams>,
) -> ApiResult<Json<MessagePage>> {
    api::messages::history_page(&state, by.user_id, &params.of(id)?).await.map(Json)
}

/// A message
#[utoipa::path(
    get, path = "/v1/messages/{id}", tag = "Messages", operation_id = "get_message",
    params(("id" = MessageId, Path, description = "A message of a conversation of the user")),
    responses((status = 200, description = "The message", body = Message)),
    extensions(("x-error-codes" = json!(["not_found"])))
)]
pub async fn get(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
) -> ApiResult<Json<Message>> {
    Ok(Json(state.app.reading.message(by.user_id, id).await?))
}

/// Edit a message
///
/// Changes the text or caption. The server keeps the earlier versions.
#[utoipa::path(
    patch, path = "/v1/messages/{id}", tag = "Messages", operation_id = "edit_message",
    params(("id" = MessageId, Path, description = "A message of a conversation of the user")),
    request_body = EditMessage,
    responses((status = 200, description = "The changed message", body = Message)),
    extensions(("x-error-codes" = json!([
        "not_found", "forbidden", "blocked", "message_gone", "not_editable", "edit_window_over", "too_many_edits",
        "invalid_field", "path_body_mismatch"
    ])))
)]
pub async fn edit(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
    Body(request): Body<EditMessage>,
) -> ApiResult<Json<Message>> {
    agree("message_id", id, request.message_id)?;
    Ok(Json(state.app.writing.edit(by.user_id, id, request.text).await?))
}

/// Delete a message
///
/// Deletes a message for the user or for everyone. Deleting for everyone erases the content and keeps the place; the
/// sender can do it, and in groups and channels also owners and admins. Deleting again changes nothing.
#[utoipa::path(
    delete, path = "/v1/messages/{id}", tag = "Messages", operation_id = "delete_message",
    params(("id" = MessageId, Path, description = "A message of a conversation of the user"), DeleteParams),
    responses((status = 204, description = "It is deleted")),
    extensions(("x-error-codes" = json!(["not_found", "forbidden", "list_full"])))
)]
pub async fn delete(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
    Params(params): Params<DeleteParams>,
) -> ApiResult<StatusCode> {
    api::messages::delete_for(&state, by.user_id, id, params.r#for).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The versions of a message
#[utoipa::path(
    get, path = "/v1/messages/{id}/edits", tag = "Messages", operation_id = "read_edits",
    params(("id" = MessageId, Path, description = "A message of a conversation of the user"), AfterParams),
    responses((status = 200, description = "Oldest version first, the current one last", body = EditList)),
    extensions(("x-error-codes" = json!(["not_found", "forbidden", "message_gone", "invalid_cursor"])))
)]
pub async fn edits(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
    Params(params): Params<AfterParams>,
) -> ApiResult<Json<EditList>> {
    let list = List::Edits(id);
    let after = state.sealer.open_next(list, by.user_id, params.after.as_deref())?;
    let (edits, next) = state.app.reading.edits(by.user_id, id, after.unwrap_or(0)).await?;
    Ok(Json(EditList { next: state.sealer.seal_next(list, by.user_id, next), ..edits }))
}

/// Who has received and read a message
#[utoipa::path(
    get, path = "/v1/messages/{id}/receipts", tag = "Messages", operation_id = "read_receipts",
    params(("id" = MessageId, Path, description = "A message of a conversation of the user"), PageParams),
    responses((status = 200, description = "One receipt for each member except the sender", body = ReceiptList)),
    extensions(("x-error-codes" = json!(["not_found", "invalid_field", "invalid_cursor"])))
)]
pub async fn receipts(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
    Params(params): Params<PageParams>,
) -> ApiResult<Json<ReceiptList>> {
    let limit = page_limit(params.limit)?;
    state.rates.check_named(by.user_id, limit)?;
    let after = state.sealer.open_next(List::Receipts(id), by.user_id, params.after.as_deref())?;
    let (list, next) = state.app.reading.receipts(by.user_id, id, after, limit).await?;
    Ok(Json(ReceiptList { next: state.sealer.seal_next(List::Receipts(id), by.user_id, next), ..list }))
}

/// A thread
///
/// The message that started the thread, with the replies to it and to its replies.
#[utoipa::path(
    get, path = "/v1/messages/{id}/thread", tag = "Messages", operation_id = "read_thread",
    params(("id" = MessageId, Path, description = "Any message of the thread"), PageParams),
    responses((status = 200, description = "One page of replies, oldest first", body = ThreadPage)),
    extensions(("x-error-codes" = json!(["not_found", "invalid_field", "invalid_cursor"])))
)]
pub async fn thread(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
    Params(params): Params<PageParams>,
) -> ApiResult<Json<ThreadPage>> {
    let limit = page_limit(params.limit)?;
    let after = state.sealer.open_next(List::Thread(id), by.user_id, params.after.as_deref())?;
    let (page, next) = state.app.reading.thread(by.user_id, id, after.unwrap_or(0), limit).await?;
    Ok(Json(ThreadPage { next: state.sealer.seal_next(List::Thread(id), by.user_id, next), ..page }))
}

impl HistoryParams {
    fn of(&self, conversation_id: ConversationId) -> ApiResult<ReadHistory> {
        Ok(ReadHistory {
            conversation_id,
            before: position("before", self.before.as_deref())?,
            after: position("after", self.after.as_deref())?,
            around: position("around", self.around.as_deref())?,
            before_time: self.before_time,
            limit: self.limit,
        })
    }
}

fn position(parameter: &'static str, text: Option<&str>) -> Result<Option<Position>, InvalidField> {
    let parsed = text.map(str::parse).transpose();
    parsed.map_err(|error: InvalidPosition| InvalidField::new(parameter, error.to_string()))
}
