//! `/v1/conversations`: making, looking at, changing and deleting one. The list is in [`super::inbox`].

use axum::extract::State;
use axum::http::StatusCode;
use godwit_domain::groups::MadeGroup;
use godwit_domain::model::page_limit;
use godwit_protocol::conversations::{
    Conversation, CreateConversation, CreatedConversation, DeleteFor, UpdateConversation,
};
use godwit_protocol::messages::LogPage;
use godwit_protocol::shape;
use godwit_protocol::{ConversationId, Seq, UserId};
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, Caller, Id, IdempotencyKey, Params, agree};
use crate::http::json::Json;
use crate::problem::ApiResult;
use crate::state::{ServerState, Shared};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteParams {
    /// `me`: only the one who asks does not see it any more. `all`: nobody does.
    #[param(inline)]
    pub(super) r#for: DeleteFor,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogParams {
    /// The last entry that the client has; 0 for none.
    after: Seq,
    /// Entries on the page, 1 to 200; 50 when absent.
    #[param(value_type = Option<shape::PageLimit>)]
    limit: Option<u16>,
}

/// Open or make a conversation
///
/// `direct` finds the conversation with a user, or makes it. Two users have one, however often and from wherever this is
/// asked; the other one sees it with the first message.
///
/// `group` and `channel` make a new one, which all its members see at once. With a `client_id`, or the header
/// `Idempotency-Key` instead, the same request again gives back what was made first.
#[utoipa::path(
    post, path = "/v1/conversations", tag = "Conversations", operation_id = "open_conversation",
    params(("Idempotency-Key" = Option<shape::ClientId>, Header, description = "The `client_id`, where the body has none")),
    request_body = CreateConversation,
    responses(
        (status = 201, description = "It was made", body = CreatedConversation),
        (status = 200, description = "It was there", body = CreatedConversation),
    ),
    extensions(("x-error-codes" = json!(["not_found", "not_with_self", "blocked", "invalid_field"])))
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
    let (created, is_new) = create(&state, by.user_id, request).await?;
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
/// Name, description, image, permissions, timer. What is absent stays as it is. In a direct conversation only the timer can
/// be changed.
#[utoipa::path(
    patch, path = "/v1/conversations/{id}", tag = "Conversations", operation_id = "update_conversation",
    params(("id" = ConversationId, Path, description = "A conversation of the user")),
    request_body = UpdateConversation,
    responses((status = 200, description = "The conversation as it is now", body = Conversation)),
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
/// For oneself: what was said so far is out of sight, and the conversation comes back with the next message. For all: an
/// owner can, and nobody finds it again.
#[utoipa::path(
    delete, path = "/v1/conversations/{id}", tag = "Conversations", operation_id = "delete_conversation",
    params(("id" = ConversationId, Path, description = "A conversation of the user"), DeleteParams),
    responses((status = 204, description = "It is deleted")),
    extensions(("x-error-codes" = json!(["not_found", "forbidden", "wrong_kind"])))
)]
pub async fn delete(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Params(params): Params<DeleteParams>,
) -> ApiResult<StatusCode> {
    delete_for(&state, by.user_id, id, params.r#for).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The log
///
/// Every change since a position, in order and without gaps: how a client that was away catches up. `truncated` says that
/// the client must load the conversation anew. A page may have fewer entries than `limit`: it is the last when there is no
/// `more`.
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

/// Opens or makes one, and says whether it is new. For HTTP and for the socket.
pub(crate) async fn create(
    state: &Shared,
    by: UserId,
    request: CreateConversation,
) -> ApiResult<(CreatedConversation, bool)> {
    let groups = &state.app.groups;
    let MadeGroup { opened, members } = match request {
        CreateConversation::Direct { user_id } => {
            MadeGroup { opened: state.app.inbox.open_direct(by, user_id).await?, members: Vec::new() }
        }
        CreateConversation::Group(new) => groups.create(by, false, new).await?,
        CreateConversation::Channel(new) => groups.create(by, true, new).await?,
    };
    let refused = members.into_iter().filter(|member| !member.added).collect();
    Ok((CreatedConversation { conversation: opened.conversation, refused }, opened.made))
}

/// For HTTP and for the socket.
pub(crate) async fn delete_for(
    state: &Shared,
    by: UserId,
    id: ConversationId,
    whom: DeleteFor,
) -> ApiResult<()> {
    match whom {
        DeleteFor::Me => state.app.inbox.delete_for_me(by, id).await?,
        DeleteFor::All => state.app.groups.delete_for_all(by, id).await?,
    }
    Ok(())
}
