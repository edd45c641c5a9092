//! `/v1/scheduled`: messages to send later.

use axum::extract::State;
use axum::http::StatusCode;
use godwit_domain::personal::Kept;
use godwit_protocol::ScheduledId;
use godwit_protocol::messages::Message;
use godwit_protocol::personal::{ScheduleMessage, Scheduled, ScheduledList, Scheduling, UpdateScheduled};

use super::extract::{Body, Caller, Id, Params, agree};
use super::messages::AfterParams;
use crate::http::json::Json;
use crate::network::ClientAddress;
use crate::opaque::List;
use crate::problem::ApiResult;
use crate::state::ServerState;

/// Scheduled messages
#[utoipa::path(
    get, path = "/v1/scheduled", tag = "Messages", operation_id = "list_scheduled",
    params(AfterParams),
    responses((status = 200, description = "Next one first", body = ScheduledList)),
    extensions(("x-error-codes" = json!(["invalid_cursor"])))
)]
pub async fn list(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Params(params): Params<AfterParams>,
) -> ApiResult<Json<ScheduledList>> {
    let list = List::Scheduled;
    let after = state.sealer.open_next(list, by.user_id, params.after.as_deref())?;
    let (scheduled, next) = state.app.personal.scheduled(by.user_id, after).await?;
    Ok(Json(ScheduledList { scheduled, next: state.sealer.seal_next(list, by.user_id, next) }))
}

/// Schedule a message
///
/// The server sends the message once when it is due, if the user may send it then. Otherwise, for example for a
/// disabled user, it stays in the list with the reason. The same `client_id` returns the scheduled or sent message with
/// status 200.
#[utoipa::path(
    post, path = "/v1/scheduled", tag = "Messages", operation_id = "schedule_message",
    request_body = ScheduleMessage,
    responses(
        (status = 201, description = "The scheduled message", body = Scheduling),
        (status = 200, description = "The scheduled or sent message with this client_id", body = Scheduling),
    ),
    extensions(("x-error-codes" = json!([
        "not_found", "invalid_field", "list_full", "forward_not_found", "too_late"
    ])))
)]
pub async fn create(
    State(state): State<ServerState>,
    Caller(by): Caller,
    address: ClientAddress,
    Body(request): Body<ScheduleMessage>,
) -> ApiResult<(StatusCode, Json<Scheduling>)> {
    // Counted now and not when the message is sent, so that a rate limit never delays a due message.
    state.rates.check_send(by.user_id, address)?;
    if request.message.forwarded_from.is_some() {
        state.rates.check_forward(by.user_id)?;
    }
    let Kept { scheduling, repeated } = state.app.personal.schedule(by.user_id, request).await?;
    Ok((if repeated { StatusCode::OK } else { StatusCode::CREATED }, Json(scheduling)))
}

/// Change a scheduled message
///
/// Changes the time or the text. A message that has failed is tried again.
#[utoipa::path(
    patch, path = "/v1/scheduled/{id}", tag = "Messages", operation_id = "update_scheduled",
    params(("id" = ScheduledId, Path, description = "A scheduled message of the user")),
    request_body = UpdateScheduled,
    responses((status = 200, description = "The changed scheduled message", body = Scheduled)),
    extensions(("x-error-codes" = json!(["not_found", "too_late", "invalid_field", "path_body_mismatch"])))
)]
pub async fn update(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ScheduledId>,
    Body(request): Body<UpdateScheduled>,
) -> ApiResult<Json<Scheduled>> {
    agree("scheduled_id", id, request.scheduled_id)?;
    Ok(Json(state.app.personal.update_scheduled(by.user_id, id, request).await?))
}

/// Send a scheduled message now
///
/// Works for failed messages too. A refused message stays in the list with the reason. For a day, doing it again
/// returns the same message.
#[utoipa::path(
    post, path = "/v1/scheduled/{id}/send", tag = "Messages", operation_id = "send_scheduled",
    params(("id" = ScheduledId, Path, description = "A scheduled message of the user")),
    responses((status = 201, description = "The message", body = Message)),
    extensions(("x-error-codes" = json!([
        "not_found", "too_late", "forbidden", "blocked", "reply_not_found", "forward_not_found"
    ])))
)]
pub async fn send(
    State(state): State<ServerState>,
    Caller(by): Caller,
    address: ClientAddress,
    Id(id): Id<ScheduledId>,
) -> ApiResult<(StatusCode, Json<Message>)> {
    state.rates.check_send(by.user_id, address)?;
    Ok((StatusCode::CREATED, Json(state.app.personal.send_scheduled_now(by.user_id, id).await?)))
}

/// Cancel a scheduled message
#[utoipa::path(
    delete, path = "/v1/scheduled/{id}", tag = "Messages", operation_id = "cancel_scheduled",
    params(("id" = ScheduledId, Path, description = "A scheduled message of the user")),
    responses((status = 204, description = "The message is cancelled")),
    extensions(("x-error-codes" = json!(["not_found", "too_late"])))
)]
pub async fn cancel(
    State(state): State<ServerState>,
    Caller(by): Caller,
    Id(id): Id<ScheduledId>,
) -> ApiResult<StatusCode> {
    state.app.personal.cancel_scheduled(by.user_id, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
