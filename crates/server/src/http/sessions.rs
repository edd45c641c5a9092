//! `/v1/sessions`: signing in, refreshing, signing out.

use axum::extract::State;
use axum::http::StatusCode;
use godwit_protocol::accounts::{Refresh, SignIn, SignedIn, Tokens};

use super::extract::{Body, Caller};
use crate::http::json::Json;
use crate::problem::ApiResult;
use crate::rate::ClientAddress;
use crate::state::ServerState;

/// Sign in
///
/// Each sign-in is a device of its own, with its own tokens.
#[utoipa::path(
    post, path = "/v1/sessions", tag = "Sessions", operation_id = "sign_in", security(()),
    request_body = SignIn,
    responses((status = 201, description = "A new session", body = SignedIn)),
    extensions(("x-error-codes" = json!(["invalid_field", "wrong_credentials", "account_disabled", "passwords_disabled"])))
)]
pub async fn sign_in(
    State(state): State<ServerState>,
    address: ClientAddress,
    Body(request): Body<SignIn>,
) -> ApiResult<(StatusCode, Json<SignedIn>)> {
    state.rates.check_sign_in(address, &request.handle)?;
    Ok((StatusCode::CREATED, Json(state.app.accounts.sign_in(request).await?)))
}

/// Refresh the tokens
///
/// A refresh token is good for one use. Using it twice ends the session, because then somebody else has it too.
#[utoipa::path(
    post, path = "/v1/sessions/refresh", tag = "Sessions", operation_id = "refresh_session", security(()),
    request_body = Refresh,
    responses((status = 200, description = "The next tokens", body = Tokens)),
    extensions(("x-error-codes" = json!(["unauthenticated", "token_expired", "refresh_reused"])))
)]
pub async fn refresh(
    State(state): State<ServerState>,
    Body(request): Body<Refresh>,
) -> ApiResult<Json<Tokens>> {
    Ok(Json(state.app.sessions.refresh(&request.refresh_token).await?))
}

/// Sign out
///
/// Ends the session that asks. Its sockets are closed.
#[utoipa::path(
    delete, path = "/v1/sessions/current", tag = "Sessions", operation_id = "sign_out",
    responses((status = 204, description = "The session has ended"))
)]
pub async fn sign_out(State(state): State<ServerState>, Caller(by): Caller) -> ApiResult<StatusCode> {
    state.app.sessions.revoke(by, by.device_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
