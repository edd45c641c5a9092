//! Messages: `/v1/conversations/{id}/messages` and `/v1/messages/{id}`.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use godwit_domain::messages::{Anchor, HistoryPage};
use godwit_domain::model::{Draft, InvalidField, page_limit};
use godwit_protocol::messages::{Message, MessagePage, ReceiptList, SendMessage};
use godwit_protocol::{ConversationId, MessageId, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;

use super::conversations::agree;
use super::extract::{Body, Caller, Id, Params};
use crate::problem::{ApiError, ApiResult};
use crate::rate::ClientAddress;
use crate::state::ServerState;

/// On an answer that was given before.
const IDEMPOTENT_REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryParams {
    /// Messages before this one: the id of a message, or a seq.
    before: Option<String>,
    /// Messages after this one: the id of a message, or a seq.
    after: Option<String>,
    /// Messages around this one, itself included: the id of a message, or a seq.
    around: Option<String>,
    /// Messages sent before this time.
    before_time: Option<Timestamp>,
    /// Messages on the page, 1 to 200; 50 when absent.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u16>,
}

/// Send a message
///
/// When the answer comes the message is durable. Sending it again with the same `client_id` gives the original back, with
/// `Idempotent-Replay: true`, so a client that got no answer simply tries again.
#[utoipa::path(
    post, path = "/v1/conversations/{id}/messages", tag = "Messages", operation_id = "send_message",
    params(("id" = ConversationId, Path, description = "A conversation of the user")),
    request_body(content = SendMessage, example = json!({"client_id": "7b1c-1", "kind": "text", "text": "Hello!"})),
    responses(
        (status = 201, description = "The message", body = Message),
        (status = 200, description = "The message that was sent before with this client_id", body = Message),
    ),
    extensions(("x-error-codes" = json!([
        "not_found", "invalid_field", "path_body_mismatch", "blocked", "reply_not_found", "forward_not_found"
    ])))
)]
pub async fn send(
    State(state): State<ServerState>,
    Caller(by): Caller,
    address: ClientAddress,
    Id(id): Id<ConversationId>,
    Body(request): Body<SendMessage>,
) -> ApiResult<Response> {
    state.rates.check_send(by.user_id)?;
    state.rates.check_send_from(address)?;
    agree(id, request.conversation_id)?;
    let sent = state.app.sending.send(by.user_id, id, Draft::parse(request)?).await?;
    Ok(if sent.repeated {
        (StatusCode::OK, [(IDEMPOTENT_REPLAY, "true")], Json(sent.message)).into_response()
    } else {
        (StatusCode::CREATED, Json(sent.message)).into_response()
    })
}

/// History
///
/// Without a position the newest messages. At most one of `before`, `after`, `around` and `before_time`. The oldest
/// message of a page is always the first.
#[utoipa::path(
    get, path = "/v1/conversations/{id}/messages", tag = "Messages", operation_id = "read_history",
    params(("id" = ConversationId, Path, description = "A conversation of the user"), HistoryParams),
    responses((status = 200, description = "One page of the history", body = MessagePage)),
    extensions(("x-error-codes" = json!(["not_found", "invalid_field"])))
)]
pub async fn history(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Params(params): Params<HistoryParams>,
) -> ApiResult<Json<MessagePage>> {
    let limit = page_limit(params.limit)?;
    let page = params.page()?;
    Ok(Json(state.app.reading.history(by.user_id, id, page, limit).await?))
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

/// Who has received and read a message
#[utoipa::path(
    get, path = "/v1/messages/{id}/receipts", tag = "Messages", operation_id = "read_receipts",
    params(("id" = MessageId, Path, description = "A message of a conversation of the user")),
    responses((status = 200, description = "One receipt for each member but the sender", body = ReceiptList)),
    extensions(("x-error-codes" = json!(["not_found"])))
)]
pub async fn receipts(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<MessageId>,
) -> ApiResult<Json<ReceiptList>> {
    Ok(Json(state.app.reading.receipts(by.user_id, id).await?))
}

impl HistoryParams {
    fn page(&self) -> ApiResult<HistoryPage> {
        match (&self.before, &self.after, &self.around, self.before_time) {
            (None, None, None, None) => Ok(HistoryPage::Newest),
            (Some(text), None, None, None) => Ok(HistoryPage::Before(anchor("before", text)?)),
            (None, Some(text), None, None) => Ok(HistoryPage::After(anchor("after", text)?)),
            (None, None, Some(text), None) => Ok(HistoryPage::Around(anchor("around", text)?)),
            (None, None, None, Some(time)) => Ok(HistoryPage::BeforeTime(time)),
            _ => Err(ApiError::invalid_request(
                "give at most one of the parameters before, after, around and before_time",
            )),
        }
    }
}

fn anchor(parameter: &'static str, text: &str) -> Result<Anchor, InvalidField> {
    text.parse().map_err(|error: InvalidField| InvalidField::new(parameter, error.reason))
}
