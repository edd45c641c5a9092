//! `/v1/accounts` and `/v1/me`: registering, the own profile, the own password.

use axum::extract::State;
use axum::http::StatusCode;
use godwit_protocol::accounts::{ChangePassword, Me, Register, SignedIn, UpdateMe};

use super::extract::{Body, Caller};
use crate::http::json::Json;
use crate::network::ClientAddress;
use crate::problem::ApiResult;
use crate::state::ServerState;

/// Register
///
/// Makes an account and signs this client in.
#[utoipa::path(
    post, path = "/v1/accounts", tag = "Accounts", operation_id = "register", security(()),
    request_body = Register,
    responses((status = 201, description = "The account, and the first session", body = SignedIn)),
    extensions(("x-error-codes" = json!([
        "invalid_field", "handle_taken", "handle_reserved", "registration_closed", "passwords_disabled"
    ])))
)]
pub async fn register(
    State(state): State<ServerState>,
    address: ClientAddress,
    Body(request): Body<Register>,
) -> ApiResult<(StatusCode, Json<SignedIn>)> {
    state.rates.check_register(address)?;
    let accounts = state.app.accounts.clone();
    let registering = async move { accounts.register(request).await };
    let signed_in = state.admission.passwords.run(address, false, registering).await??;
    Ok((StatusCode::CREATED, Json(signed_in)))
}

/// Own profile and settings
#[utoipa::path(
    get, path = "/v1/me", tag = "Accounts", operation_id = "get_me",
    responses((status = 200, description = "The own profile", body = Me))
)]
pub async fn me(State(state): State<ServerState>, Caller(by): Caller) -> ApiResult<Json<Me>> {
    Ok(Json(state.app.accounts.me(by.user_id).await?))
}

/// Change the own profile
///
/// What is absent stays as it is; `null` removes the avatar or the phone. People who share a conversation with the user are
/// told of a new handle, name or picture (`user_updated`); 50 such changes a day are allowed. A handle that is given up can
/// be had by nobody else for 30 days, and a user keeps 5 of them at most: `rate_limited` says when the next one is free.
#[utoipa::path(
    patch, path = "/v1/me", tag = "Accounts", operation_id = "update_me",
    request_body = UpdateMe,
    responses((status = 200, description = "The profile as it is now", body = Me)),
    extensions(("x-error-codes" = json!(["invalid_field", "handle_taken", "handle_reserved", "rate_limited"])))
)]
pub async fn update_me(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Body(request): Body<UpdateMe>,
) -> ApiResult<Json<Me>> {
    Ok(Json(state.app.accounts.update_me(by.user_id, request).await?))
}

/// Change the password
///
/// Ends every other session of the user.
#[utoipa::path(
    put, path = "/v1/me/password", tag = "Accounts", operation_id = "change_password",
    request_body = ChangePassword,
    responses((status = 204, description = "The password is changed")),
    extensions(("x-error-codes" = json!(["invalid_field", "wrong_credentials", "passwords_disabled"])))
)]
pub async fn change_password(
    State(state): State<ServerState>,
    Caller(by): Caller,
    address: ClientAddress,
    Body(request): Body<ChangePassword>,
) -> ApiResult<StatusCode> {
    state.rates.check_password_change(by.device_id)?;
    let accounts = state.app.accounts.clone();
    let changing = async move { accounts.change_password(by, request).await };
    state.admission.passwords.run(address, true, changing).await??;
    Ok(StatusCode::NO_CONTENT)
}
