//! `/v1/conversations/{id}/bans`: users who cannot join a group or a channel, or be added to it.

use axum::extract::State;
use axum::http::StatusCode;
use godwit_domain::model::page_limit;
use godwit_protocol::groups::BanPage;
use godwit_protocol::{ConversationId, UserId};

use super::extract::{Caller, Id, Ids, Params};
use super::messages::PageParams;
use crate::http::json::Json;
use crate::opaque::List;
use crate::problem::ApiResult;
use crate::state::ServerState;

/// Banned users
///
/// Ordered by user id. Only owners and admins see bans.
#[utoipa::path(
    get, path = "/v1/conversations/{id}/bans", tag = "Members", operation_id = "list_bans",
    params(("id" = ConversationId, Path, description = "A conversation of the user"), PageParams),
    responses((status = 200, description = "One page of bans", body = BanPage)),
    extensions(("x-error-codes" = json!([
        "not_found", "forbidden", "wrong_kind", "invalid_field", "invalid_cursor"
    ])))
)]
pub async fn list(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ConversationId>,
    Params(params): Params<PageParams>,
) -> ApiResult<Json<BanPage>> {
    let limit = page_limit(params.limit)?;
    state.rates.check_named(by.user_id, limit)?;
    let after = state.sealer.open_next(List::Bans(id), by.user_id, params.after.as_deref())?;
    let (bans, next) = state.app.groups.bans(by.user_id, id, after, limit).await?;
    Ok(Json(BanPage { bans, next: state.sealer.seal_next(List::Bans(id), by.user_id, next) }))
}

/// Ban a user
///
/// Removes the user if they are a member. Until the ban is lifted, they cannot join (by a link or otherwise) or be
/// added. Owners can ban anyone; admins can ban ordinary members and non-members. Banning again changes nothing.
#[utoipa::path(
    put, path = "/v1/conversations/{id}/bans/{user_id}", tag = "Members", operation_id = "ban",
    params(
        ("id" = ConversationId, Path, description = "A conversation of the user"),
        ("user_id" = UserId, Path, description = "A user, member or not"),
    ),
    responses((status = 204, description = "The user is banned")),
    extensions(("x-error-codes" = json!([
        "not_found", "forbidden", "wrong_kind", "not_with_self", "too_many_bans"
    ])))
)]
pub async fn ban(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Ids(id, user): Ids<ConversationId, UserId>,
) -> ApiResult<StatusCode> {
    state.app.groups.ban(by.user_id, id, user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lift a ban
///
/// The user can join and be added again, but does not become a member. Lifting a ban again changes nothing.
#[utoipa::path(
    delete, path = "/v1/conversations/{id}/bans/{user_id}", tag = "Members", operation_id = "unban",
    params(
        ("id" = ConversationId, Path, description = "A conversation of the user"),
        ("user_id" = UserId, Path, description = "A banned user"),
    ),
    responses((status = 204, description = "The user is not banned")),
    extensions(("x-error-codes" = json!(["not_found", "forbidden", "wrong_kind"])))
)]
pub async fn unban(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Ids(id, user): Ids<ConversationId, UserId>,
) -> ApiResult<StatusCode> {
    state.app.groups.unban(by.user_id, id, user).await?;
    Ok(StatusCode::NO_CONTENT)
}
