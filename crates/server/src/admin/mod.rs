//! What the operator does with users, whether or not the server runs.
//!
//! The embedded store can be opened by one process only. So a running server listens on a Unix socket in its data
//! folder ([`server`]), and the command line asks it there ([`client`]); if nobody listens, it opens the store itself
//! and runs the same [`execute`].
//!
//! The protocol is one command and one reply a line, in JSON. The socket belongs to the user who runs the server, and
//! nobody else may connect.

pub mod client;
pub mod server;
mod socket;

use std::sync::Arc;

use godwit_domain::App;
use godwit_domain::accounts::AccountError;
use godwit_domain::model::User;
use godwit_protocol::accounts::Register;
use godwit_protocol::{Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::config::StoreLocation;
use crate::moving::{MoveStatus, Moves};
use crate::problem::chain;

/// Users in one reply to [`AdminCommand::ListUsers`].
pub const USERS_PER_REPLY: usize = 500;

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AdminCommand {
    /// Where the data of the server is, so that nobody changes that of another one.
    WhichStore,
    AddUser {
        handle: String,
        display_name: Option<String>,
        password: String,
    },
    /// In the order of their ids, those after `after`.
    ListUsers {
        after: Option<UserId>,
    },
    /// Keeps a user out, or lets them in again.
    SetDisabled {
        handle: String,
        disabled: bool,
    },
    /// Ends every session of the user.
    SetPassword {
        handle: String,
        password: String,
    },
    /// Moves the data to another store, or goes on with it. `to` may have a password.
    Move {
        to: String,
    },
    /// How the move goes.
    MoveStatus,
    /// Leaves it where it can go on later.
    StopMove,
    /// Ends for good a move that was stopped.
    AbandonMove,
}

/// Without passwords.
impl std::fmt::Debug for AdminCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::WhichStore => write!(f, "WhichStore"),
            Self::AddUser { handle, .. } => write!(f, "AddUser({handle:?})"),
            Self::ListUsers { after } => write!(f, "ListUsers({after:?})"),
            Self::SetDisabled { handle, disabled } => write!(f, "SetDisabled({handle:?}, {disabled})"),
            Self::SetPassword { handle, .. } => write!(f, "SetPassword({handle:?})"),
            Self::Move { .. } => write!(f, "Move"),
            Self::MoveStatus => write!(f, "MoveStatus"),
            Self::StopMove => write!(f, "StopMove"),
            Self::AbandonMove => write!(f, "AbandonMove"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdminReply {
    Store(StoreLocation),
    User(UserSummary),
    /// At most [`USERS_PER_REPLY`]; as many means that there may be more.
    Users(Vec<UserSummary>),
    Done,
    Moving(MoveStatus),
    /// One line that says why nothing was done.
    Refused(String),
}

/// What the operator sees of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserSummary {
    pub id: UserId,
    pub handle: String,
    pub display_name: String,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_at: Option<Timestamp>,
}

/// What commands are about.
#[derive(Debug)]
pub struct Operated {
    pub app: App,
    /// Where the data is.
    pub store: StoreLocation,
    /// Of a running server.
    pub moves: Option<Arc<Moves>>,
}

/// Does what a command says.
pub async fn execute(operated: &Operated, command: AdminCommand) -> AdminReply {
    run(operated, command).await.unwrap_or_else(|error| AdminReply::Refused(reason(&error)))
}

/// What went wrong, and what to do.
fn reason(error: &AccountError) -> String {
    match error {
        AccountError::HandleTaken => "the handle is taken; choose another one".into(),
        AccountError::NotFound => "there is no such user; `godwit user list` shows all".into(),
        error => chain(error),
    }
}

async fn run(operated: &Operated, command: AdminCommand) -> Result<AdminReply, AccountError> {
    let accounts = &operated.app.accounts;
    match command {
        AdminCommand::WhichStore => Ok(AdminReply::Store(operated.store.clone())),
        AdminCommand::Move { .. }
        | AdminCommand::MoveStatus
        | AdminCommand::StopMove
        | AdminCommand::AbandonMove => Ok(match &operated.moves {
            Some(moves) => moving(moves, command).await.unwrap_or_else(AdminReply::Refused),
            None => AdminReply::Refused("no server runs here".into()),
        }),
        AdminCommand::AddUser { handle, display_name, password } => {
            let request = Register { handle, password, display_name, phone: None, device_name: None };
            Ok(AdminReply::User(UserSummary::of(&accounts.add(&request).await?)))
        }
        AdminCommand::ListUsers { after } => {
            let users = accounts.list(after, USERS_PER_REPLY).await?;
            Ok(AdminReply::Users(users.iter().map(UserSummary::of).collect()))
        }
        AdminCommand::SetDisabled { handle, disabled } => {
            Ok(AdminReply::User(UserSummary::of(&accounts.set_disabled(&handle, disabled).await?)))
        }
        AdminCommand::SetPassword { handle, password } => {
            accounts.set_password(&handle, &password).await?;
            Ok(AdminReply::Done)
        }
    }
}

async fn moving(moves: &Moves, command: AdminCommand) -> Result<AdminReply, String> {
    match command {
        AdminCommand::Move { to } => moves.start(to.parse()?).map(AdminReply::Moving),
        AdminCommand::StopMove => {
            moves.stop();
            Ok(AdminReply::Done)
        }
        AdminCommand::AbandonMove => moves.abandon().await.map(|()| AdminReply::Done),
        _ => moves.status().map(AdminReply::Moving).ok_or_else(|| "nothing is being moved".into()),
    }
}

impl UserSummary {
    fn of(user: &User) -> Self {
        Self {
            id: user.id,
            handle: user.handle.to_string(),
            display_name: user.display_name.to_string(),
            created_at: user.created_at,
            disabled_at: user.disabled_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_replies_are_lines_of_json() {
        let command = AdminCommand::SetDisabled { handle: "ada".into(), disabled: true };
        let line = serde_json::to_string(&command).unwrap();
        assert_eq!(line, r#"{"set_disabled":{"handle":"ada","disabled":true}}"#);
        assert!(
            serde_json::from_str::<AdminCommand>(r#"{"set_disabled":{"handle":"ada","off":true}}"#).is_err()
        );
        let reply = AdminReply::Refused("a line\nand another".into());
        let line = serde_json::to_string(&reply).unwrap();
        assert!(!line.contains('\n'));
        assert_eq!(serde_json::from_str::<AdminReply>(&line).unwrap(), reply);
    }

    #[test]
    fn passwords_are_not_printed() {
        let password = "correct horse".to_owned();
        for command in [
            AdminCommand::AddUser { handle: "ada".into(), display_name: None, password: password.clone() },
            AdminCommand::SetPassword { handle: "ada".into(), password },
        ] {
            assert!(!format!("{command:?}").contains("horse"));
        }
    }
}
