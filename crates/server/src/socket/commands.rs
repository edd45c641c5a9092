//! Each command is one use case.

use godwit_domain::messages::Submitted;
use godwit_domain::model::{Draft, InvalidField, page_limit};
use godwit_domain::ports::Delivery;
use godwit_domain::sessions::Principal;
use godwit_protocol::conversations::{MemberCursor, MoveCursor};
use godwit_protocol::limits::PRESENCE_WATCHED_MAX;
use godwit_protocol::messages::{LogPage, SendMessage};
use godwit_protocol::socket::{
    CloseCode, Command, Empty, PresenceEvent, PresenceList, ReadLog, SignedInSocket, Sync, Typing,
    WatchPresence,
};
use godwit_protocol::sync::SyncPage;
use godwit_protocol::{ErrorCode, UserId};
use serde::Serialize;

use super::connection::Connection;
use crate::http::sync::sync_page;
use crate::problem::ApiError;

/// What came of a command.
pub(super) enum Outcome {
    Reply(Box<Reply>),
    /// The message has its place in the queue; the reply follows when it is durable.
    Sending(Submitted),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Reply {
    SignedIn(SignedInSocket),
    Cursor(MemberCursor),
    Log(LogPage),
    Sync(SyncPage),
    Presence(PresenceList),
    Empty(Empty),
}

/// Runs a command. Everything but `sign_in` and `ping` needs a signed-in socket.
pub(super) async fn execute(connection: &mut Connection, command: Command) -> Result<Outcome, ApiError> {
    let reply = match command {
        Command::SignIn(request) => Reply::SignedIn(connection.sign_in(&request.access_token).await?),
        Command::Ping(_) => Reply::Empty(Empty {}),
        Command::Send(request) => return connection.send(request).await.map(Outcome::Sending),
        Command::Cursor(request) => Reply::Cursor(connection.cursor(request).await?),
        Command::Typing(request) => Reply::Empty(connection.typing(request).await?),
        Command::Log(request) => Reply::Log(connection.log(request).await?),
        Command::Sync(request) => Reply::Sync(connection.sync(request).await?),
        Command::WatchPresence(request) => Reply::Presence(connection.watch_presence(request).await?),
    };
    Ok(Outcome::Reply(Box::new(reply)))
}

impl Connection {
    /// Signs the socket in, or extends it with a fresh token of the same device.
    async fn sign_in(&mut self, token: &str) -> Result<SignedInSocket, ApiError> {
        let (caller, signed_in) = self.identify(token).await?;
        self.admit(token, caller).await?;
        Ok(signed_in)
    }

    /// Who a token stands for.
    pub(super) async fn identify(&self, token: &str) -> Result<(Principal, SignedInSocket), ApiError> {
        let sessions = &self.state.app.sessions;
        let caller = sessions.authenticate(token).await?;
        let device =
            sessions.device(caller).await?.ok_or_else(|| ApiError::new(ErrorCode::Unauthenticated))?;
        Ok((caller, SignedInSocket { user_id: caller.user_id, device, expires_at: caller.expires_at }))
    }

    /// Makes the socket the caller's, from now on until the token expires.
    pub(super) async fn admit(&mut self, token: &str, caller: Principal) -> Result<(), ApiError> {
        let is_first = self.caller.is_none();
        if !self.state.hub.sign_in(&self.socket, caller.user_id, caller.device_id, caller.expires_at) {
            return Err(ApiError::new(ErrorCode::AlreadySignedIn));
        }
        self.caller = Some(caller);
        self.newcomer = None;
        // A session that ended after the first look found no socket to close. Now that there is one, look again.
        let refused = match self.state.app.sessions.authenticate(token).await {
            Ok(again) if again == caller => None,
            Ok(_) => Some(ApiError::new(ErrorCode::Unauthenticated)),
            Err(error) => Some(error.into()),
        };
        if let Some(error) = refused {
            self.socket.outgoing.close(sign_in_failed(&error));
            return Err(error);
        }
        if is_first {
            self.state.app.presence.came_online(caller.user_id).await?;
        }
        Ok(())
    }

    async fn send(&self, request: SendMessage) -> Result<Submitted, ApiError> {
        let caller = self.caller()?;
        self.state.rates.check_send(caller.user_id)?;
        self.state.rates.check_send_from(self.address)?;
        let conversation = needed("conversation_id", request.conversation_id)?;
        let draft = Draft::parse(request)?;
        Ok(self.state.app.sending.submit(caller.user_id, conversation, draft).await?)
    }

    async fn cursor(&self, request: MoveCursor) -> Result<MemberCursor, ApiError> {
        let by = self.limited_caller()?;
        let conversation = needed("conversation_id", request.conversation_id)?;
        Ok(self.state.app.cursors.advance(by, conversation, request.delivered, request.read).await?)
    }

    async fn typing(&self, request: Typing) -> Result<Empty, ApiError> {
        let by = self.limited_caller()?;
        self.state.app.presence.typing(by, request.conversation_id, request.typing).await?;
        Ok(Empty {})
    }

    async fn log(&self, request: ReadLog) -> Result<LogPage, ApiError> {
        let by = self.limited_caller()?;
        let limit = page_limit(request.limit)?;
        Ok(self.state.app.reading.log(by, request.conversation_id, request.after, limit).await?)
    }

    async fn sync(&self, request: Sync) -> Result<SyncPage, ApiError> {
        let by = self.limited_caller()?;
        sync_page(&self.state, by, request.since.as_deref(), request.limit).await
    }

    async fn watch_presence(&self, request: WatchPresence) -> Result<PresenceList, ApiError> {
        let by = self.limited_caller()?;
        if request.user_ids.len() > PRESENCE_WATCHED_MAX {
            let reason = format!("must have at most {PRESENCE_WATCHED_MAX} users");
            return Err(InvalidField::new("user_ids", reason).into());
        }
        let presences = &self.state.app.presence;
        let visible = ids(&presences.visible(by, &request.user_ids).await?);
        self.state.hub.watch(&self.socket, &visible);
        // Who came, left, or blocked the other since the first look found no socket to tell. Now that there is one, look
        // again.
        let presence = presences.visible(by, &visible).await?;
        let still_visible = ids(&presence);
        for hidden in visible.iter().filter(|user| !still_visible.contains(user)) {
            self.state.hub.stop_watching(by, *hidden);
        }
        Ok(PresenceList { presence })
    }

    fn caller(&self) -> Result<Principal, ApiError> {
        self.caller.ok_or_else(|| ApiError::new(ErrorCode::SignInFirst))
    }

    fn limited_caller(&self) -> Result<UserId, ApiError> {
        let user = self.caller()?.user_id;
        self.state.rates.check_commands(user)?;
        Ok(user)
    }
}

/// How a socket is closed whose sign-in failed half-way.
pub(super) fn sign_in_failed(error: &ApiError) -> CloseCode {
    if error.status().is_server_error() { CloseCode::Internal } else { CloseCode::SignedOut }
}

fn ids(presence: &[PresenceEvent]) -> Vec<UserId> {
    presence.iter().map(|event| event.user_id).collect()
}

fn needed<T>(field: &'static str, value: Option<T>) -> Result<T, InvalidField> {
    value.ok_or_else(|| InvalidField::new(field, "is needed"))
}
