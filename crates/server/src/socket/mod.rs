//! The WebSocket at `/v1/ws`.
//!
//! - [`upgrade`]: from an HTTP request to a socket
//! - [`wire`]: bytes and frames
//! - [`connection`]: the single task of a socket: reads commands, writes the frames of its queue
//! - [`commands`]: each command is one use case
//! - [`asyncapi`]: the description of the socket at `/asyncapi.json`
//!
//! The hub checks heartbeats, sign-in deadlines and token expiry of all sockets with one timer.

pub mod asyncapi;
mod commands;
mod connection;
mod frames;
mod handshake;
mod wire;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use godwit_protocol::ErrorCode;

use self::connection::Handshake;
use self::wire::Wire;
use crate::api::bearer::bearer_token;
use crate::listener::Peer;
use crate::network::ClientAddress;
use crate::problem::ApiError;
use crate::sign_ins::{By, authenticate};
use crate::state::ServerState;

/// `GET /v1/ws`. An `Authorization` header signs the client in; browsers, which cannot send one, use the `sign_in` command.
pub async fn upgrade(
    State(state): State<ServerState>,
    address: ClientAddress,
    peer: Option<Extension<Peer>>,
    mut request: Request,
) -> Result<Response, ApiError> {
    let response = handshake::answer(request.headers()).map_err(|what| {
        ApiError::new(ErrorCode::InvalidRequest)
            .with_detail(format!("this is the WebSocket endpoint: {what}"))
    })?;
    if *state.stopping.borrow() {
        return Err(ApiError::new(ErrorCode::ShuttingDown));
    }
    let token = bearer_token(request.headers())?.map(str::to_owned);
    let token = match token {
        Some(token) => {
            let turn = state.admission.sign_ins.wait(address, false).await?;
            // Refuses a bad token with a status. The socket checks the token again when it opens.
            let authenticated = authenticate(&state, By::Socket, address, &token).await;
            let caller = authenticated.map_err(|error| bad_token(&state, address, error))?;
            state.rates.check_socket_sign_in(caller.user_id)?;
            Some((token, turn))
        }
        None => None,
    };
    let peer = peer.map(|Extension(peer)| peer);
    if !peer.as_ref().is_none_or(|peer| peer.becomes_socket(address)) {
        return Err(ApiError::new(ErrorCode::Unavailable).with_detail("too many connections"));
    }
    let handshake = Handshake { address, peer, token };
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        match upgraded.await {
            Ok(stream) => connection::run(state, Wire::new(stream), handshake).await,
            Err(error) => tracing::debug!(%error, "a connection did not become a socket"),
        }
    });
    Ok(response)
}

/// The error for a token that did not sign a socket in. Only tokens that were never valid count towards the limit of the
/// address, so that a stranger cannot keep users behind the same address from signing in, or from learning that their token
/// has expired.
fn bad_token(state: &ServerState, address: ClientAddress, error: ApiError) -> ApiError {
    let limited = if error.code() == ErrorCode::Unauthenticated {
        state.rates.check_bad_socket_sign_in(address).err()
    } else {
        None
    };
    limited.unwrap_or(error)
}
