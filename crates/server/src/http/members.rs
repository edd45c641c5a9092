//! `/v1/conversations/{id}/members`: who is in a group or a channel, and as what.

use axum::extract::State;
use axum::http::StatusCode;
use godwit_domain::groups::MemberFilter;
use godwit_domain::model::{SearchPrefix, page_limit};
use godwit_protocol::conversations::{Conversation, Role};
use godwit_protocol::groups::{AddMembers, AddedMembers, MemberPage, OfMember, RefusedGroups, SetRole};
use godwit_protocol::shape;
use godwit_protocol::{ConversationId, UserId};
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, Caller, Id, Ids, Params, agree};
use crate::http::json::Json;
use crate::opaque::List;
use crate::problem::ApiResult;
use crate::state::ServerState;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct MemberParams {
    /// Only those who have this role.
    #[param(inline)]
    role: Option<Role>,
    /// Only those whose handle, or a word of whose display name, begins with it.
    #[param(value_type = Option<shape::SearchText>)]
    query: Option<String>,
    /// `next` of the page before.
    #[param(value_type = Option<shape::Cursor>)]
    after: Option<String>,
    /// Members on the page, 1 to 200; 50 when absent.
    #[param(value_type = Option<shape::PageLimit>)]
    limit: Option<u16>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LeaveParams {
    /// Leave for good; `false` when absent.
    #[serde(default)]
    #[param(required = false)]
    block: bool,
}

/// Members
///
/// In the order of their ids. A page can have fewer than asked for and still be followed by another.
#[utoipa::path(
    get, path = "/v1/conversations/{id}/members", tag = "Members", operation_id = "list_members",
    params(("id" = ConversationId, Path, description = "A conversation of the user"), MemberParams),
    responses((status = 200, description = "One page of members", body = MemberPage)),
    extensions(("x-error-codes" = json!(["not_found", "invalid_field", "invalid_cursor"])))
)]
pub async fn list(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Params(params): Params<MemberParams>,
) -> ApiResult<Json<MemberPage>> {
    let name = params.query.as_deref().map(SearchPrefix::parse).transpose()?;
    let filter = MemberFilter { role: params.role, name };
    let limit = page_limit(params.limit)?;
    let after = state.sealer.open_next(List::Members(id), by.user_id, params.after.as_deref())?;
    let (members, next) = state.app.groups.members(by.user_id, id, &filter, after, limit).await?;
    Ok(Json(MemberPage { members, next: state.sealer.seal_next(List::Members(id), by.user_id, next) }))
}

/// Add members
///
/// Says of each what became of them: some can be added although others cannot. How many one user can add in a day, and how
/// many strangers among them, is limited: `rate_limited` then says when to try again, and nobody was added.
#[utoipa::path(
    post, path = "/v1/conversations/{id}/members", tag = "Members", operation_id = "add_members",
    params(("id" = ConversationId, Path, description = "A conversation of the user")),
    request_body = AddMembers,
    responses((status = 200, description = "What became of each, in the order asked", body = AddedMembers)),
    extensions(("x-error-codes" = json!([
        "not_found", "forbidden", "wrong_kind", "too_many_members", "invalid_field", "path_body_mismatch",
        "rate_limited"
    ])))
)]
pub async fn add(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Body(request): Body<AddMembers>,
) -> ApiResult<Json<AddedMembers>> {
    agree("conversation_id", id, request.conversation_id)?;
    let results = state.app.groups.add_members(by.user_id, id, &request.user_ids).await?;
    Ok(Json(AddedMembers { results }))
}

/// Change a member's role
///
/// Owners can. A conversation keeps one owner at least.
#[utoipa::path(
    patch, path = "/v1/conversations/{id}/members/{user_id}", tag = "Members", operation_id = "set_role",
    params(
        ("id" = ConversationId, Path, description = "A conversation of the user"),
        ("user_id" = UserId, Path, description = "A member"),
    ),
    request_body = SetRole,
    responses((status = 204, description = "The member has this role")),
    extensions(("x-error-codes" = json!([
        "not_found", "forbidden", "wrong_kind", "last_owner", "too_many_staff", "path_body_mismatch"
    ])))
)]
pub async fn set_role(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Ids(id, user): Ids<ConversationId, UserId>,
    Body(request): Body<SetRole>,
) -> ApiResult<StatusCode> {
    agree("conversation_id", id, request.conversation_id)?;
    agree("user_id", user, request.user_id)?;
    state.app.groups.set_role(by.user_id, id, user, request.role).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a member
///
/// Owners remove anybody, admins ordinary members. Removing oneself is leaving. Removing somebody again changes nothing.
/// They can come back by a link: to keep them out, ban them.
#[utoipa::path(
    delete, path = "/v1/conversations/{id}/members/{user_id}", tag = "Members", operation_id = "remove_member",
    params(
        ("id" = ConversationId, Path, description = "A conversation of the user"),
        ("user_id" = UserId, Path, description = "A member"),
    ),
    responses((status = 204, description = "The user is no longer a member")),
    extensions(("x-error-codes" = json!(["not_found", "forbidden", "wrong_kind", "last_owner"])))
)]
pub async fn remove(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Ids(id, user): Ids<ConversationId, UserId>,
) -> ApiResult<StatusCode> {
    state.app.groups.remove_member(by.user_id, id, user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Hand the conversation over
///
/// The member becomes an owner, and who asks an admin, in one step. Doing it again changes nothing.
#[utoipa::path(
    put, path = "/v1/conversations/{id}/owner", tag = "Members", operation_id = "transfer_ownership",
    params(("id" = ConversationId, Path, description = "A conversation that the user owns")),
    request_body = OfMember,
    responses((status = 204, description = "The member is an owner")),
    extensions(("x-error-codes" = json!([
        "not_found", "forbidden", "wrong_kind", "too_many_staff", "path_body_mismatch"
    ])))
)]
pub async fn transfer_ownership(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Body(request): Body<OfMember>,
) -> ApiResult<StatusCode> {
    agree("conversation_id", id, request.conversation_id)?;
    state.app.groups.transfer_ownership(by.user_id, id, request.user_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Join
///
/// Where anybody may. Joining again changes nothing.
#[utoipa::path(
    post, path = "/v1/conversations/{id}/join", tag = "Members", operation_id = "join",
    params(("id" = ConversationId, Path, description = "A conversation that anybody may join")),
    responses((status = 200, description = "The conversation, of which the user is a member", body = Conversation)),
    extensions(("x-error-codes" = json!(["not_found", "too_many_members", "too_many_conversations"])))
)]
pub async fn join(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
) -> ApiResult<Json<Conversation>> {
    Ok(Json(state.app.groups.join(by.user_id, id).await?))
}

/// Leave
///
/// The last owner hands over first. With `block` the user leaves for good: whoever added them is blocked, and nobody can add
/// them to this conversation again. They can still join by themselves, which undoes it.
#[utoipa::path(
    post, path = "/v1/conversations/{id}/leave", tag = "Members", operation_id = "leave",
    params(("id" = ConversationId, Path, description = "A conversation of the user"), LeaveParams),
    responses((status = 204, description = "The user is no longer a member")),
    extensions(("x-error-codes" = json!(["not_found", "wrong_kind", "last_owner"])))
)]
pub async fn leave(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Params(params): Params<LeaveParams>,
) -> ApiResult<StatusCode> {
    state.app.groups.leave(by.user_id, id, params.block).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Conversations left for good
///
/// Nobody can add the user to these: they have left them with `block`.
#[utoipa::path(
    get, path = "/v1/refused-groups", tag = "Members", operation_id = "list_refused_groups",
    responses((status = 200, description = "The oldest first, at most 100", body = RefusedGroups))
)]
pub async fn refused(State(state): State<ServerState>, Caller(by): Caller) -> ApiResult<Json<RefusedGroups>> {
    Ok(Json(RefusedGroups { conversation_ids: state.app.groups.refused(by.user_id).await? }))
}

/// Be added again
///
/// Others can add the user to this conversation again. Nothing changes where they could.
#[utoipa::path(
    delete, path = "/v1/refused-groups/{id}", tag = "Members", operation_id = "allow_group",
    params(("id" = ConversationId, Path, description = "A conversation that the user has left for good")),
    responses((status = 204, description = "Others can add the user")),
    extensions(("x-error-codes" = json!(["not_found"])))
)]
pub async fn allow_again(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
) -> ApiResult<StatusCode> {
    state.app.groups.allow_again(by.user_id, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
