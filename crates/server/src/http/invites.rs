//! `/v1/conversations/{id}/invites` and `/v1/invites`: invite links.

use axum::extract::State;
use axum::http::StatusCode;
use godwit_protocol::conversations::Conversation;
use godwit_protocol::groups::{CreateInvite, Invite, InviteList, InvitePreview};
use godwit_protocol::shape;
use godwit_protocol::{ConversationId, InviteId};

use super::extract::{Body, Caller, Id, Ids, agree};
use crate::api::invites::{new_token, parse_token};
use crate::http::json::Json;
use crate::problem::ApiResult;
use crate::state::ServerState;

/// Invite links
///
/// Links that have not ended. Owners and admins see all of them, others their own. `works` says whether the creator of
/// a link may still invite.
#[utoipa::path(
    get, path = "/v1/conversations/{id}/invites", tag = "Members", operation_id = "list_invites",
    params(("id" = ConversationId, Path, description = "A conversation of the user")),
    responses((status = 200, description = "The links, oldest first", body = InviteList)),
    extensions(("x-error-codes" = json!(["not_found", "forbidden", "wrong_kind"])))
)]
pub async fn list(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
) -> ApiResult<Json<InviteList>> {
    Ok(Json(InviteList { invites: state.app.groups.invites(by.user_id, id).await? }))
}

/// Create an invite link
///
/// Anyone with the token can join until the link expires, is revoked or is used up, as long as its creator is a member
/// who may invite. The link is deleted when its creator leaves. The same `client_id` returns the same link.
#[utoipa::path(
    post, path = "/v1/conversations/{id}/invites", tag = "Members", operation_id = "create_invite",
    params(("id" = ConversationId, Path, description = "A conversation of the user")),
    request_body = CreateInvite,
    responses(
        (status = 201, description = "The link", body = Invite),
        (status = 200, description = "The existing link with this client_id", body = Invite),
    ),
    extensions(("x-error-codes" = json!([
        "not_found", "forbidden", "wrong_kind", "too_many_invites", "invalid_field", "path_body_mismatch"
    ])))
)]
pub async fn create(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Body(request): Body<CreateInvite>,
) -> ApiResult<(StatusCode, Json<Invite>)> {
    agree("conversation_id", id, request.conversation_id)?;
    let (invite, repeated) = state.app.groups.create_invite(by.user_id, id, request, new_token()).await?;
    Ok((if repeated { StatusCode::OK } else { StatusCode::CREATED }, Json(invite)))
}

/// Revoke an invite link
///
/// Owners and admins can revoke all of them, others their own. Revoking it again changes nothing.
#[utoipa::path(
    delete, path = "/v1/conversations/{id}/invites/{invite_id}", tag = "Members", operation_id = "revoke_invite",
    params(
        ("id" = ConversationId, Path, description = "A conversation of the user"),
        ("invite_id" = InviteId, Path, description = "A link of the conversation"),
    ),
    responses((status = 204, description = "The link no longer works")),
    extensions(("x-error-codes" = json!(["not_found", "forbidden", "wrong_kind"])))
)]
pub async fn revoke(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Ids(id, invite): Ids<ConversationId, InviteId>,
) -> ApiResult<StatusCode> {
    state.app.groups.revoke_invite(by.user_id, id, invite).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Look at an invite link
///
/// Shows the conversation behind a link before joining.
#[utoipa::path(
    get, path = "/v1/invites/{token}", tag = "Members", operation_id = "preview_invite",
    params(("token" = shape::InviteToken, Path, description = "The token of a link")),
    responses((status = 200, description = "A preview of the conversation", body = InvitePreview)),
    extensions(("x-error-codes" = json!(["invite_invalid"])))
)]
pub async fn preview(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(token): Id<String>,
) -> ApiResult<Json<InvitePreview>> {
    Ok(Json(state.app.groups.preview(by.user_id, &parse_token(&token)?).await?))
}

/// Join with an invite link
///
/// Joining again changes nothing and does not count as a use of the link.
#[utoipa::path(
    post, path = "/v1/invites/{token}/join", tag = "Members", operation_id = "join_by_invite",
    params(("token" = shape::InviteToken, Path, description = "The token of a link")),
    responses((status = 200, description = "The joined conversation", body = Conversation)),
    extensions(("x-error-codes" = json!(["invite_invalid", "too_many_members", "too_many_conversations"])))
)]
pub async fn join(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(token): Id<String>,
) -> ApiResult<Json<Conversation>> {
    Ok(Json(state.app.groups.join_by_invite(by.user_id, parse_token(&token)?).await?))
}
