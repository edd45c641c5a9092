//! `/v1/sessions`: signing in, refreshing, signing out.

use axum::extract::State;
use axum::http::StatusCode;
use godwit_domain::sessions::AuthError;
use godwit_protocol::accounts::{Refresh, SignIn, SignedIn, Tokens};

use super::extract::{Body, Caller};
use crate::http::json::Json;
use crate::network::ClientAddress;
use crate::problem::ApiResult;
use crate::sign_ins::{By, Who};
use crate::state::ServerState;

/// Sign in
///
/// Each sign-in creates a device with its own tokens. Attempts are limited per account, and more strictly per account
/// and network. With the `device_proof` of an earlier sign-in, the attempts of others do not count.
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
    let handle = request.handle.clone();
    let outcome = sign_in_by_password(&state, address, request).await;
    state.sign_ins.tried(By::Password, &handle, address, &outcome);
    outcome.map(|signed_in| (StatusCode::CREATED, Json(signed_in)))
}

/// Refresh the tokens
///
/// A refresh token is valid for one use. A client that lost the answer can repeat the call for a minute, until the next
/// token is used. Any other second use ends the session, because someone else may have the token.
#[utoipa::path(
    post, path = "/v1/sessions/refresh", tag = "Sessions", operation_id = "refresh_session", security(()),
    request_body = Refresh,
    responses((status = 200, description = "The new tokens", body = Tokens)),
    extensions(("x-error-codes" = json!(["unauthenticated", "token_expired", "refresh_reused"])))
)]
pub async fn refresh(
    State(state): State<ServerState>,
    address: ClientAddress,
    Body(request): Body<Refresh>,
) -> ApiResult<Json<Tokens>> {
    let refreshed = refresh_session(&state, address, &request.refresh_token).await;
    refreshed.map(Json).inspect_err(|error| {
        state.sign_ins.failed(By::RefreshToken, Who::Unknown, address, error);
    })
}

/// Sign out
///
/// Ends the current session and closes its sockets.
#[utoipa::path(
    delete, path = "/v1/sessions/current", tag = "Sessions", operation_id = "sign_out",
    responses((status = 204, description = "The session has ended"))
)]
pub async fn sign_out(State(state): State<ServerState>, Caller(by): Caller) -> ApiResult<StatusCode> {
    state.app.sessions.revoke(by, by.device_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn sign_in_by_password(
    state: &ServerState,
    address: ClientAddress,
    request: SignIn,
) -> ApiResult<SignedIn> {
    let accounts = state.app.accounts.clone();
    let known = accounts.known_device(&request).await?;
    match known {
        Some(known) => state.rates.check_known(address, known.user_id, known.device_id)?,
        None => state.rates.check_sign_in(address, &request.handle)?,
    }
    let signing_in = async move { accounts.sign_in(request).await };
    Ok(state.admission.passwords.run(address, known.is_some(), signing_in).await??)
}

/// Only invalid tokens count towards the address, so that a stranger cannot keep users behind the same address from
/// refreshing, or from learning that their token has expired.
async fn refresh_session(
    state: &ServerState,
    address: ClientAddress,
    refresh_token: &str,
) -> ApiResult<Tokens> {
    let sessions = &state.app.sessions;
    match sessions.refreshed_device(refresh_token) {
        Ok(device) => state.rates.check_refresh(device)?,
        Err(AuthError::Expired) => return Err(AuthError::Expired.into()),
        Err(error) => {
            state.rates.check_bad_refresh(address)?;
            return Err(error.into());
        }
    }
    Ok(sessions.refresh(refresh_token).await?)
}
