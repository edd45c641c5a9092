//! Operator commands on users, whether or not the server runs.
//!
//! Only one process can open the embedded store. A running server therefore listens on a Unix socket in its data folder
//! ([`server`]), and the command line sends it the command ([`client`]). If no server listens, the command line opens the
//! store itself and runs the same [`execute`].
//!
//! The protocol is one command and one reply per line, in JSON. The socket belongs to the user who runs the server, and no
//! other user can connect.

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
use crate::problem::chain;
use crate::transfers::{TransferStatus, Transfers};

/// Users in one reply to [`AdminCommand::ListUsers`].
pub const USERS_PER_REPLY: usize = 500;

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AdminCommand {
    /// The location of the server's data, so that a command never changes other data.
    WhichStore,
    AddUser {
        handle: String,
        display_name: Option<String>,
        password: String,
    },
    /// Users with an id after `after`, sorted by id.
    ListUsers {
        after: Option<UserId>,
    },
    /// Disables or enables a user.
    SetDisabled {
        handle: String,
        disabled: bool,
    },
    /// Sets a password and ends every session of the user.
    SetPassword {
        handle: String,
        password: String,
    },
    /// Starts or resumes a transfer to another store. `to` may contain a password.
    Transfer {
        to: String,
    },
    /// The progress of the transfer.
    TransferStatus,
    /// Stops the transfer so that it can be resumed later.
    StopTransfer,
    /// Gives up a transfer that was stopped.
    AbandonTransfer,
}

/// Omits passwords.
impl std::fmt::Debug for AdminCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::WhichStore => write!(f, "WhichStore"),
            Self::AddUser { handle, .. } => write!(f, "AddUser({handle:?})"),
            Self::ListUsers { after } => write!(f, "ListUsers({after:?})"),
            Self::SetDisabled { handle, disabled } => write!(f, "SetDisabled({handle:?}, {disabled})"),
            Self::SetPassword { handle, .. } => write!(f, "SetPassword({handle:?})"),
            Self::Transfer { .. } => write!(f, "Transfer"),
            Self::TransferStatus => write!(f, "TransferStatus"),
            Self::StopTransfer => write!(f, "StopTransfer"),
            Self::AbandonTransfer => write!(f, "AbandonTransfer"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdminReply {
    Store(StoreLocation),
    User(UserSummary),
    /// At most [`USERS_PER_REPLY`]; a full reply means that there may be more.
    Users(Vec<UserSummary>),
    Done,
    Transfer(TransferStatus),
    /// The reason, on one line, why the command was refused.
    Refused(String),
}

/// The parts of a user that the operator sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserSummary {
    pub id: UserId,
    pub handle: String,
    pub display_name: String,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_at: Option<Timestamp>,
}

/// The targets of commands.
#[derive(Debug)]
pub struct Operated {
    pub app: App,
    /// The location of the data.
    pub store: StoreLocation,
    /// Present in a running server.
    pub transfers: Option<Arc<Transfers>>,
}

/// Executes a command.
pub async fn execute(operated: &Operated, command: AdminCommand) -> AdminReply {
    run(operated, command).await.unwrap_or_else(|error| AdminReply::Refused(reason(&error)))
}

/// The reason for a failure, and how to fix it.
fn reason(error: &AccountError) -> String {
    match error {
        AccountError::HandleTaken => "the handle is taken; choose another handle".into(),
        AccountError::NotFound => "no such user; `godwit user list` shows all users".into(),
        error => chain(error),
    }
}

async fn run(operated: &Operated, command: AdminCommand) -> Result<AdminReply, AccountError> {
    let accounts = &operated.app.accounts;
    match command {
        AdminCommand::WhichStore => Ok(AdminReply::Store(operated.store.clone())),
        AdminCommand::Transfer { .. }
        | AdminCommand::TransferStatus
        | AdminCommand::StopTransfer
        | AdminCommand::AbandonTransfer => Ok(match &operated.transfers {
            Some(transfers) => transfer(transfers, command).await.unwrap_or_else(AdminReply::Refused),
            None => AdminReply::Refused("no server is running here".into()),
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

async fn transfer(transfers: &Transfers, command: AdminCommand) -> Result<AdminReply, String> {
    match command {
        AdminCommand::Transfer { to } => transfers.start(to.parse()?).map(AdminReply::Transfer),
        AdminCommand::StopTransfer => {
            transfers.stop();
            Ok(AdminReply::Done)
        }
        AdminCommand::AbandonTransfer => transfers.abandon().await.map(|()| AdminReply::Done),
        _ => transfers.status().map(AdminReply::Transfer).ok_or_else(|| "no transfer is running".into()),
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
