//! The WebSocket at `/v1/ws`.
//!
//! - [`upgrade`]: from an HTTP request to a socket
//! - [`connection`]: the one task of a socket: reads commands, writes what waits in its queue
//! - [`commands`]: each command is one use case
//! - [`asyncapi`]: the description of it all at `/asyncapi.json`
//!
//! Heartbeats, sign-in deadlines and token expiry are looked after by the hub for all sockets at once.

pub mod asyncapi;
mod commands;
mod connection;
mod frames;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use godwit_protocol::ErrorCode;
use godwit_protocol::limits::FRAME_BYTES_MAX;

use self::connection::Handshake;
use crate::http::extract::bearer_token;
use crate::listener::Newcomer;
use crate::problem::ApiError;
use crate::rate::ClientAddress;
use crate::state::ServerState;

/// What a socket's read buffer begins with. Libraries begin with 128 KiB, which an idle client never needs; it grows for
/// larger frames.
const READ_BUFFER_BYTES: usize = 1_024;
/// Frames to one socket are gathered into writes of about this size.
const WRITE_BUFFER_BYTES: usize = 8 * 1_024;

/// `GET /v1/ws`. A client that can send an `Authorization` header is signed in by it; browsers send the `sign_in` command.
pub async fn upgrade(
    State(state): State<ServerState>,
    address: ClientAddress,
    newcomer: Option<Extension<Newcomer>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let upgrade = upgrade.map_err(|error| {
        ApiError::new(ErrorCode::InvalidRequest).with_detail(format!("this is the WebSocket: {error}"))
    })?;
    if *state.stopping.borrow() {
        return Err(ApiError::new(ErrorCode::ShuttingDown));
    }
    let token = bearer_token(&headers)?.map(str::to_owned);
    if let Some(token) = &token {
        // Refused here, a bad token is answered with a status; the socket checks it again when it opens.
        state.app.sessions.authenticate(token).await?;
    }
    let handshake = Handshake { address, newcomer: newcomer.map(|Extension(newcomer)| newcomer), token };
    Ok(upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_message_size(FRAME_BYTES_MAX)
        .max_frame_size(FRAME_BYTES_MAX)
        .on_upgrade(move |socket| connection::run(state, socket, handshake)))
}
