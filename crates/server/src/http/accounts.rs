//! `/v1/accounts` and `/v1/me`: registration, the user's own profile and password.

use axum::extract::State;
use axum::http::StatusCode;
use godwit_domain::sessions::Principal;
use godwit_protocol::accounts::{ChangePassword, Me, PasswordChanged, Register, SignedIn, UpdateMe};

use super::extract::{Body, Caller};
use crate::http::json::Json;
use crate::network::ClientAddress;
use crate::problem::ApiResult;
use crate::sign_ins::By;
use crate::state::ServerState;

/// Register
///
/// Creates an account and signs this client in.
#[utoipa::path(
    post, path = "/v1/accounts", tag = "Accounts", operation_id = "register", security(()),
    request_body = Register,
    responses((status = 201, description = "The account and its first session", body = SignedIn)),
    extensions(("x-error-codes" = json!([
        "invalid_field", "handle_taken", "handle_reserved", "registration_closed", "passwords_disabled"
    ])))
)]
pub async fn register(
    State(state): State<ServerState>,
    address: ClientAddress,
    Body(request): Body<Register>,
) -> ApiResult<(StatusCode, Json<SignedIn>)> {
    let handle = request.handle.clone();
    let outcome = register_by_password(&state, address, request).await;
    state.sign_ins.tried(By::Registration, &handle, address, &outcome);
    outcome.map(|signed_in| (StatusCode::CREATED, Json(signed_in)))
}

/// Own profile and settings
#[utoipa::path(
    get, path = "/v1/me", tag = "Accounts", operation_id = "get_me",
    responses((status = 200, description = "The user's own profile", body = Me))
)]
pub async fn me(State(state): State<ServerState>, Caller(by): Caller) -> ApiResult<Json<Me>> {
    Ok(Json(state.app.accounts.me(by.user_id).await?))
}

/// Change profile and settings
///
/// Absent fields stay unchanged; `null` removes the avatar or the phone number. The server notifies people who share a
/// conversation with the user of a new handle, name or picture (`user_updated`), and allows 50 such changes per day.
/// Nobody else can take a released handle for 30 days. A user can reserve at most 5 handles this way: `rate_limited`
/// says when the next one is free.
#[utoipa::path(
    patch, path = "/v1/me", tag = "Accounts", operation_id = "update_me",
    request_body = UpdateMe,
    responses((status = 200, description = "The changed profile", body = Me)),
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
/// Ends every other session of the user and returns new tokens for this one, whose old refresh token is no longer
/// valid.
#[utoipa::path(
    put, path = "/v1/me/password", tag = "Accounts", operation_id = "change_password",
    request_body = ChangePassword,
    responses((status = 200, description = "The password is changed; the new tokens", body = PasswordChanged)),
    extensions(("x-error-codes" = json!(["invalid_field", "wrong_credentials", "passwords_disabled"])))
)]
pub async fn change_password(
    State(state): State<ServerState>,
    Caller(by): Caller,
    address: ClientAddress,
    Body(request): Body<ChangePassword>,
) -> ApiResult<Json<PasswordChanged>> {
    let outcome = change_by_password(&state, by, address, request).await;
    state.sign_ins.changed_password(by.user_id, by.device_id, address, outcome.as_ref().map(|_| ()));
    outcome.map(Json)
}

async fn register_by_password(
    state: &ServerState,
    address: ClientAddress,
    request: Register,
) -> ApiResult<SignedIn> {
    state.rates.check_register(address)?;
    let accounts = state.app.accounts.clone();
    let registering = async move { accounts.register(request).await };
    Ok(state.admission.passwords.run(address, false, registering).await??)
}

/// Limits the rate, so that a stolen token does not help to guess the password.
async fn change_by_password(
    state: &ServerState,
    by: Principal,
    address: ClientAddress,
    request: ChangePassword,
) -> ApiResult<PasswordChanged> {
    state.rates.check_known(address, by.user_id, by.device_id)?;
    let accounts = state.app.accounts.clone();
    let changing = async move { accounts.change_password(by, request).await };
    Ok(state.admission.passwords.run(address, true, changing).await??)
}
