//! Signing the socket in, and watching presence.

use godwit_domain::model::InvalidField;
use godwit_domain::sessions::Principal;
use godwit_protocol::limits::PRESENCE_WATCHED_MAX;
use godwit_protocol::socket::{
    CloseCode, Empty, PresenceEvent, PresenceList, SignInSocket, SignedInSocket, WatchPresence,
};
use godwit_protocol::{ErrorCode, UserId};

use super::Connection;
use crate::listener::Peer;
use crate::problem::{ApiError, ApiResult};
use crate::sign_ins::{By, authenticate};
use crate::socket::bad_token;

impl Connection {
    /// Signs the socket in, or extends it with a fresh token of the same device.
    pub(super) async fn sign_in(&mut self, request: SignInSocket) -> ApiResult<SignedInSocket> {
        let token = request.access_token.as_str();
        let _busy = self.peer.as_ref().map(Peer::busy);
        let _turn = self.state.admission.sign_ins.wait(self.address, false).await?;
        let identified = self.identify(token).await;
        let (caller, signed_in) = identified.map_err(|error| bad_token(&self.state, self.address, error))?;
        self.state.rates.check_socket_sign_in(caller.user_id)?;
        self.admit(token, caller).await?;
        Ok(signed_in)
    }

    /// Pings of sockets that are not signed in count as frames.
    pub(super) async fn ping(&self, _: Empty) -> ApiResult<Empty> {
        if let Some(caller) = self.caller {
            self.state.rates.check_pings(caller.user_id)?;
        }
        Ok(Empty {})
    }

    /// The user and device of a token.
    pub(in crate::socket) async fn identify(&self, token: &str) -> ApiResult<(Principal, SignedInSocket)> {
        let caller = authenticate(&self.state, By::Socket, self.address, token).await?;
        let device = self
            .state
            .app
            .sessions
            .device(caller)
            .await?
            .ok_or_else(|| ApiError::new(ErrorCode::Unauthenticated))?;
        Ok((caller, SignedInSocket { user_id: caller.user_id, device, expires_at: caller.expires_at }))
    }

    /// Makes the socket the caller's until the token expires.
    pub(in crate::socket) async fn admit(&mut self, token: &str, caller: Principal) -> ApiResult<()> {
        let is_first = self.caller.is_none();
        if !self.peer.as_ref().is_none_or(Peer::signed_in) {
            return Err(ApiError::new(ErrorCode::Unavailable).with_detail("too many connections"));
        }
        let until = Some(caller.expires_at);
        if !self.state.hub.sign_in(&self.socket, caller.user_id, caller.device_id, until) {
            return Err(ApiError::new(ErrorCode::AlreadySignedIn));
        }
        self.caller = Some(caller);
        // A session that ended after the first check found no socket to close. The socket is registered now, so check again.
        let refused = match authenticate(&self.state, By::Socket, self.address, token).await {
            Ok(again) if again == caller => None,
            Ok(_) => Some(ApiError::new(ErrorCode::Unauthenticated)),
            Err(error) => Some(error),
        };
        if let Some(error) = refused {
            self.socket.outgoing.close(sign_in_failed(&error));
            return Err(error);
        }
        if is_first && let Err(error) = self.state.app.presence.came_online(caller.user_id).await {
            // The socket would be signed in without following large conversations, and another sign-in would not repair
            // that.
            let error = ApiError::from(error);
            self.socket.outgoing.close(sign_in_failed(&error));
            return Err(error);
        }
        Ok(())
    }

    pub(super) async fn watch_presence(&self, request: WatchPresence) -> ApiResult<PresenceList> {
        let by = self.limited_caller()?;
        if request.user_ids.len() > PRESENCE_WATCHED_MAX {
            let reason = format!("must have at most {PRESENCE_WATCHED_MAX} users");
            return Err(InvalidField::new("user_ids", reason).into());
        }
        self.state.rates.check_named(by, request.user_ids.len())?;
        let presences = &self.state.app.presence;
        let visible = ids(&presences.visible(by, &request.user_ids).await?);
        self.state.hub.watch(&self.socket, &visible);
        // A user who connected, disconnected or blocked the other since the first read found no socket to notify. The socket
        // is registered now, so read again.
        let presence = presences.visible(by, &visible).await?;
        let still_visible = ids(&presence);
        for hidden in visible.iter().filter(|user| !still_visible.contains(user)) {
            self.state.hub.stop_watching(by, *hidden);
        }
        Ok(PresenceList { presence })
    }
}

/// The close code of a socket whose sign-in failed halfway.
pub(in crate::socket) fn sign_in_failed(error: &ApiError) -> CloseCode {
    if error.status().is_server_error() { CloseCode::Internal } else { CloseCode::SignedOut }
}

fn ids(presence: &[PresenceEvent]) -> Vec<UserId> {
    presence.iter().map(|event| event.user_id).collect()
}
