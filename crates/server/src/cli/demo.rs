//! `godwit demo`.

use std::io::{Write, stdout};
use std::sync::Arc;

use godwit_domain::ports::Clock;

use super::config::refuse_problems;
use super::password::Password;
use crate::clock::SystemClock;
use crate::config::{Config, LogConfig};
use crate::demo::{self, StoryClock};
use crate::observe;
use crate::wiring::{Core, Role};

/// The person with the fullest inbox.
const WHO: &str = "ada";

pub(super) async fn run(config: &Config) -> anyhow::Result<()> {
    refuse_problems(config)?;
    observe::start_log(&LogConfig { level: "warn".into(), ..config.log.clone() });
    let clock = Arc::new(StoryClock::new(SystemClock.now()));
    let core = Core::open_at(config, Role::Operator, clock.clone()).await?;
    let password = Password::generate();
    let told = demo::tell(&core.app, &clock, password.reveal()).await;
    core.close().await?;
    let demo::Told { people, conversations, messages } = told?;
    let mut out = stdout().lock();
    writeln!(
        out,
        "added {people} people, {conversations} conversations and {messages} messages to {}",
        config.store_location()
    )?;
    writeln!(out, "\nStart the server, and sign in as {WHO} with the password {}\n", password.reveal())?;
    writeln!(
        out,
        "Everyone has the same password: sign in as ben in another browser to chat with yourself."
    )?;
    Ok(())
}
