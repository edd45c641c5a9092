//! Commands: each one is one use case.
//!
//! - [`session`]: signing in, presence
//! - [`messages`]: commands on messages
//! - [`groups`]: commands on conversations and their members
//! - [`catching_up`]: history, log and `sync`; cursors and typing notices

mod catching_up;
mod groups;
mod messages;
mod session;

use bytes::Bytes;
use godwit_domain::model::InvalidField;
use godwit_domain::sessions::Principal;
use godwit_protocol::socket::{Command, CommandFrame, CommandKind};
use godwit_protocol::{ErrorCode, UserId, socket_commands};

use super::connection::Connection;
use super::frames;
use crate::problem::ApiError;

pub(super) use session::sign_in_failed;

/// The result of a command.
pub(super) enum Outcome {
    Reply(Bytes),
    /// The reply follows when the change is durable.
    Later,
}

/// Runs a command that came in a frame of this size. Every command except `sign_in` and `ping` needs a signed-in socket.
pub(super) async fn execute(
    connection: &mut Connection,
    CommandFrame { id, command }: CommandFrame,
    frame_bytes: usize,
) -> Result<Outcome, ApiError> {
    if let Some(caller) = connection.caller {
        connection.state.rates.check_written(caller.user_id, frame_bytes)?;
    }
    if let (CommandKind::Change, Some(caller)) = (command.kind(), connection.caller) {
        connection.state.rates.check_changes(caller.user_id)?;
    }
    dispatch(connection, id, command).await
}

/// Calls the method with the name of the command.
macro_rules! dispatch {
    ($($name:ident: $variant:ident($body:ident) -> $reply:ident, $kind:ident, $when:ident, $summary:literal;)+) => {
        async fn dispatch(connection: &mut Connection, id: u64, command: Command) -> Result<Outcome, ApiError> {
            match command {
                $(Command::$variant(request) => $when!(connection.$name, id, request),)+
            }
        }
    };
}

macro_rules! at_once {
    ($connection:ident.$name:ident, $id:ident, $request:ident) => {
        Ok(Outcome::Reply(frames::ok($id, &$connection.$name($request).await?)))
    };
}

macro_rules! when_durable {
    ($connection:ident.$name:ident, $id:ident, $request:ident) => {
        $connection.$name($id, $request).await.map(|()| Outcome::Later)
    };
}

socket_commands!(dispatch);

impl Connection {
    fn caller(&self) -> Result<Principal, ApiError> {
        self.caller.ok_or_else(|| ApiError::new(ErrorCode::SignInFirst))
    }

    fn limited_caller(&self) -> Result<UserId, ApiError> {
        let user = self.caller()?.user_id;
        self.state.rates.check_commands(user)?;
        Ok(user)
    }
}

fn needed<T>(field: &'static str, value: Option<T>) -> Result<T, InvalidField> {
    value.ok_or_else(|| InvalidField::new(field, "is required"))
}
