//! `godwit user`.

use std::io::{Write, stdout};

use anyhow::bail;

use super::args::UserCommand;
use super::operator::Operator;
use super::password::Password;
use crate::admin::{AdminCommand, AdminReply, USERS_PER_REPLY, UserSummary};
use crate::config::{Config, LogConfig};
use crate::observe;

pub(super) async fn run(config: &Config, command: UserCommand) -> anyhow::Result<()> {
    observe::start_log(&LogConfig { level: "warn".into(), ..config.log.clone() });
    match command {
        UserCommand::Add { handle, name, password_stdin } => {
            let password = Password::obtain(password_stdin)?;
            let secret = password.reveal().to_owned();
            let command = AdminCommand::AddUser { handle, display_name: name, password: secret };
            let user = user(once(config, true, command).await?)?;
            writeln!(stdout(), "added {} (id {})", user.handle, user.id)?;
            show(&password)
        }
        UserCommand::List { json } => list(config, json).await,
        UserCommand::Disable { handle, enable } => {
            let command = AdminCommand::SetDisabled { handle, disabled: !enable };
            let user = user(once(config, false, command).await?)?;
            let done = if enable { "enabled" } else { "disabled" };
            Ok(writeln!(stdout(), "{done} {}", user.handle)?)
        }
        UserCommand::Passwd { handle, password_stdin } => {
            let password = Password::obtain(password_stdin)?;
            let secret = password.reveal().to_owned();
            once(config, false, AdminCommand::SetPassword { handle: handle.clone(), password: secret })
                .await?;
            writeln!(stdout(), "set a new password for {handle} and ended all sessions")?;
            show(&password)
        }
    }
}

async fn once(config: &Config, create: bool, command: AdminCommand) -> anyhow::Result<AdminReply> {
    let mut operator = Operator::reach(config, create).await?;
    let reply = operator.ask(command).await;
    operator.close().await?;
    reply
}

async fn list(config: &Config, json: bool) -> anyhow::Result<()> {
    let mut operator = Operator::reach(config, false).await?;
    let mut after = None;
    let listed = loop {
        let users = match operator.ask(AdminCommand::ListUsers { after }).await {
            Ok(AdminReply::Users(users)) => users,
            Ok(_) => break unexpected(),
            Err(error) => break Err(error),
        };
        if let Err(error) = print(&users, json) {
            break Err(error);
        }
        after = users.last().map(|user| user.id);
        if users.len() < USERS_PER_REPLY {
            break Ok(());
        }
    };
    operator.close().await?;
    listed
}

fn print(users: &[UserSummary], json: bool) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    for user in users {
        if json {
            writeln!(out, "{}", serde_json::to_string(user)?)?;
        } else {
            let created = user.created_at.to_string();
            let day = created.split('T').next().unwrap_or_default();
            let note = if user.disabled_at.is_some() { "  (disabled)" } else { "" };
            writeln!(out, "{:<20}  {}  {}  {}{note}", user.handle, user.id, day, user.display_name)?;
        }
    }
    Ok(())
}

fn user(reply: AdminReply) -> anyhow::Result<UserSummary> {
    match reply {
        AdminReply::User(user) => Ok(user),
        _ => unexpected(),
    }
}

fn unexpected<T>() -> anyhow::Result<T> {
    bail!("unexpected answer from the running server; it may have another version: restart it")
}

fn show(password: &Password) -> anyhow::Result<()> {
    if let Password::Generated(text) = password {
        writeln!(stdout(), "password: {text}")?;
    }
    Ok(())
}
