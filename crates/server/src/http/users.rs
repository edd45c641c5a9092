//! `/v1/users`: finding people.

use axum::extract::State;
use godwit_domain::model::{InvalidField, SearchPrefix};
use godwit_protocol::UserId;
use godwit_protocol::limits::SEARCH_PAGE_MAX;
use godwit_protocol::people::{UserDetails, UserPage};
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Caller, Id, Params};
use crate::http::json::Json;
use crate::opaque::List;
use crate::problem::ApiResult;
use crate::rate::ClientAddress;
use crate::state::ServerState;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchParams {
    /// The beginning of a handle, or of a word of a display name.
    #[param(example = "ada")]
    query: String,
    /// `next` of the page before.
    after: Option<String>,
    /// Users in the answer, 1 to 50; 50 when absent.
    #[param(minimum = 1, maximum = 50)]
    limit: Option<u16>,
}

/// Search users
///
/// Finds users whose handle, or a word of whose display name, begins with the text.
#[utoipa::path(
    get, path = "/v1/users", tag = "People", operation_id = "search_users",
    params(SearchParams),
    responses((status = 200, description = "Users, in the order of their ids", body = UserPage)),
    extensions(("x-error-codes" = json!(["invalid_field", "invalid_cursor"])))
)]
pub async fn search(
    State(state): State<ServerState>,
    Caller(by): Caller,
    address: ClientAddress,
    Params(params): Params<SearchParams>,
) -> ApiResult<Json<UserPage>> {
    state.rates.check_search(by.user_id, address)?;
    let prefix = SearchPrefix::parse(&params.query)?;
    let limit = search_limit(params.limit)?;
    let after = state.sealer.open_next(List::Search, by.user_id, params.after.as_deref())?;
    let (users, next) = state.app.people.search(&prefix, after, limit).await?;
    Ok(Json(UserPage { users, next: state.sealer.seal_next(List::Search, by.user_id, next) }))
}

/// A user
#[utoipa::path(
    get, path = "/v1/users/{id}", tag = "People", operation_id = "get_user",
    params(("id" = UserId, Path, description = "The user")),
    responses((status = 200, description = "What can be seen of the user", body = UserDetails)),
    extensions(("x-error-codes" = json!(["not_found"])))
)]
pub async fn get(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<UserId>,
) -> ApiResult<Json<UserDetails>> {
    Ok(Json(state.app.people.user(by.user_id, id).await?))
}

fn search_limit(asked: Option<u16>) -> Result<usize, InvalidField> {
    match asked.unwrap_or(SEARCH_PAGE_MAX) {
        limit @ 1..=SEARCH_PAGE_MAX => Ok(usize::from(limit)),
        _ => Err(InvalidField::new("limit", format!("must be 1 to {SEARCH_PAGE_MAX}"))),
    }
}
