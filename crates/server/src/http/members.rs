//! `/v1/conversations/{id}/members`: the members of a group or a channel, and their roles.

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
use crate::api;
use crate::http::json::Json;
use crate::network::ClientAddress;
use crate::opaque::List;
use crate::problem::ApiResult;
use crate::state::ServerState;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct MemberParams {
    /// Only members with this role.
    #[param(inline)]
    role: Option<Role>,
    /// Only members whose handle, or a word of whose name, starts with this text.
    #[param(value_type = Option<shape::SearchText>)]
    query: Option<String>,
    /// `next` of the previous page.
    #[param(value_type = Option<shape::Cursor>)]
    after: Option<String>,
    /// Members per page, 1 to 200; default 50.
    #[param(value_type = Option<shape::PageLimit>)]
    limit: Option<u16>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LeaveParams {
    /// Leave for good; default `false`.
    #[serde(default)]
    #[param(required = false)]
    block: bool,
}

/// Members
///
/// Ordered by user id. A page may have fewer members than requested and still be followed by another.
#[utoipa::path(
    get, path = "/v1/conversations/{id}/members", tag = "Members", operation_id = "list_members",
    params(("id" = ConversationId, Path, description = "A conversation of the user"), MemberParams),
    responses((status = 200, description = "One page of members", body = MemberPage)),
    extensions(("x-error-codes" = json!(["not_found", "invalid_field", "invalid_cursor"])))
)]
pub async fn list(
    State(state): State<ServerState>,
    Caller(by): Caller,
    address: ClientAddress,
    Id(id): Id<ConversationId>,
    Params(params): Params<MemberParams>,
) -> ApiResult<Json<MemberPage>> {
    if params.query.is_some() {
        // It looks through many members to find a few.
        state.rates.check_search(by.user_id, address)?;
    }
    let name = params.query.as_deref().map(SearchPrefix::parse).transpose()?;
    let filter = MemberFilter { role: params.role, name };
    let limit = page_limit(params.limit)?;
    state.rates.check_named(by.user_id, limit)?;
    let after = state.sealer.open_next(List::Members(id), by.user_id, params.after.as_deref())?;
    let (members, next) = state.app.groups.members(by.user_id, id, &filter, after, limit).await?;
    Ok(Json(MemberPage { members, next: state.sealer.seal_next(List::Members(id), by.user_id, next) }))
}

/// Add members
///
/// The answer has a result for each user: some can be added although others cannot. Daily limits apply to the number of
/// users and of strangers that one user adds. `rate_limited` means that nobody was added, and says when to retry.
#[utoipa::path(
    post, path = "/v1/conversations/{id}/members", tag = "Members", operation_id = "add_members",
    params(("id" = ConversationId, Path, description = "A conversation of the user")),
    request_body = AddMembers,
    responses((status = 200, description = "The result for each user, in the order of the request", body = AddedMembers)),
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
    api::conversations::add_members(&state, by.user_id, id, &request.user_ids).await.map(Json)
}

/// Change a member's role
///
/// Only owners can do this. A conversation keeps at least one owner.
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
/// Owners can remove anyone, admins ordinary members. Removing yourself is leaving. Removing a user again changes
/// nothing. A removed user can come back with a link: ban them to keep them out.
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

/// Transfer ownership
///
/// In one step, the member becomes an owner and the requesting user an admin. Doing it again changes nothing.
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
/// Joins a conversation that is open to everyone. Joining again changes nothing.
#[utoipa::path(
    post, path = "/v1/conversations/{id}/join", tag = "Members", operation_id = "join",
    params(("id" = ConversationId, Path, description = "A conversation that is open to everyone")),
    responses((status = 200, description = "The joined conversation", body = Conversation)),
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
/// The last owner must transfer ownership first. With `block` the user leaves for good: this blocks the person who
/// added them, and nobody can add them to this conversation again. They can still join on their own, which undoes it.
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
/// Conversations that the user has left with `block`. Nobody can add them there.
#[utoipa::path(
    get, path = "/v1/refused-groups", tag = "Members", operation_id = "list_refused_groups",
    responses((status = 200, description = "Oldest first, at most 100", body = RefusedGroups))
)]
pub async fn refused(State(state): State<ServerState>, Caller(by): Caller) -> ApiResult<Json<RefusedGroups>> {
    Ok(Json(RefusedGroups { conversation_ids: state.app.groups.refused(by.user_id).await? }))
}

/// Allow being added again
///
/// Lets others add the user to this conversation again. Changes nothing if they already could.
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
