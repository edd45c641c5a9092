//! Reaching the data: through the server that has it open, or directly.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::time::sleep;

use crate::admin::client::AdminClient;
use crate::admin::{AdminCommand, AdminReply, execute};
use crate::config::Config;
use crate::wiring::Core;

/// A server that is starting or stopping has the store open and does not listen. It is waited for this long.
const BUSY_MAX: Duration = Duration::from_secs(5);
const BUSY_STEP: Duration = Duration::from_millis(100);

/// Whoever carries out commands.
pub(super) enum Operator {
    Server(AdminClient),
    Core(Box<Core>),
}

impl Operator {
    /// `create` says whether there may be no data yet.
    pub(super) async fn reach(config: &Config, create: bool) -> anyhow::Result<Self> {
        let folder = config.data_folder();
        if !create && !folder.exists() {
            bail!("there is no data in {}; name the folder with --data", folder.display());
        }
        let began = Instant::now();
        loop {
            let server = AdminClient::connect(folder).await;
            if let Some(server) =
                server.context("the running server cannot be reached; only the user who runs it can")?
            {
                return Ok(Self::Server(server));
            }
            match Core::open(config).await {
                Ok(core) => return Ok(Self::Core(Box::new(core))),
                Err(error) if error.is_busy() && began.elapsed() < BUSY_MAX => sleep(BUSY_STEP).await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The reply, if the command was not refused.
    pub(super) async fn ask(&mut self, command: AdminCommand) -> anyhow::Result<AdminReply> {
        let reply = match self {
            Self::Server(client) => {
                client.ask(&command).await.context("the running server does not answer")?
            }
            Self::Core(core) => execute(&core.app, command).await,
        };
        match reply {
            AdminReply::Refused(reason) => bail!(reason),
            reply => Ok(reply),
        }
    }

    /// Leaves the data as it should be.
    pub(super) async fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Server(_) => Ok(()),
            Self::Core(core) => Ok(core.close().await?),
        }
    }
}
