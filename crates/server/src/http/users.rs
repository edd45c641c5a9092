//! `/v1/users`: finding people.

use axum::extract::State;
use godwit_domain::model::{InvalidField, SearchPrefix};
use godwit_protocol::UserId;
use godwit_protocol::limits::SEARCH_PAGE_MAX;
use godwit_protocol::people::{UserDetails, UserPage};
use godwit_protocol::shape;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Caller, Id, Params};
use crate::http::json::Json;
use crate::network::ClientAddress;
use crate::opaque::List;
use crate::problem::{ApiError, ApiResult};
use crate::state::ServerState;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FindParams {
    /// The beginning of a handle, or of a word of a display name.
    #[param(value_type = Option<shape::SearchText>)]
    query: Option<String>,
    /// Instead of `query`: the ids of users, up to 50, with commas between them.
    #[param(value_type = Option<shape::UserIdsText>)]
    ids: Option<String>,
    /// `next` of the page before, of a search.
    #[param(value_type = Option<shape::Cursor>)]
    after: Option<String>,
    /// Users in the answer, 1 to 50; 50 when absent.
    #[param(value_type = Option<shape::SearchLimit>)]
    limit: Option<u16>,
}

/// Find users
///
/// With `query`, those whose handle, or a word of whose display name, begins with the text; a name that the server made up
/// for somebody who has none is not searched. With `ids`, those that are asked for and exist.
#[utoipa::path(
    get, path = "/v1/users", tag = "People", operation_id = "find_users",
    params(FindParams),
    responses((status = 200, description = "Users, in the order of their ids", body = UserPage)),
    extensions(
        ("x-error-codes" = json!(["invalid_field", "invalid_cursor"])),
        ("x-exactly-one-of" = json!(["query", "ids"])),
    )
)]
pub async fn find(
    State(state): State<ServerState>,
    Caller(by): Caller,
    address: ClientAddress,
    Params(params): Params<FindParams>,
) -> ApiResult<Json<UserPage>> {
    let query = match (&params.query, &params.ids) {
        (Some(query), None) => query,
        (None, Some(ids)) => {
            let ids = user_ids(ids)?;
            state.rates.check_users_named(by.user_id, ids.len())?;
            let users = state.app.people.users(&ids).await?;
            return Ok(Json(UserPage { users, next: None }));
        }
        _ => return Err(ApiError::invalid_request("give one of the parameters query and ids")),
    };
    state.rates.check_search(by.user_id, address)?;
    let prefix = SearchPrefix::parse(query)?;
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

fn user_ids(text: &str) -> Result<Vec<UserId>, InvalidField> {
    let ids: Result<Vec<UserId>, _> = text.split(',').map(str::parse).collect();
    let ids = ids.map_err(|_| InvalidField::new("ids", "must be ids with commas between them"))?;
    if ids.len() > usize::from(SEARCH_PAGE_MAX) {
        return Err(InvalidField::new("ids", format!("must be {SEARCH_PAGE_MAX} at most")));
    }
    Ok(ids)
}

fn search_limit(asked: Option<u16>) -> Result<usize, InvalidField> {
    match asked.unwrap_or(SEARCH_PAGE_MAX) {
        limit @ 1..=SEARCH_PAGE_MAX => Ok(usize::from(limit)),
        _ => Err(InvalidField::new("limit", format!("must be 1 to {SEARCH_PAGE_MAX}"))),
    }
}
