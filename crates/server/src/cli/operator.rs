//! Access to the data: through a running server, or directly.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::admin::client::AdminClient;
use crate::admin::{AdminCommand, AdminReply, Operated, execute};
use crate::config::{Config, StoreLocation};
use crate::wiring::{Core, Role};

/// How long to wait for a server that is starting or stopping: it has the store open and does not listen.
const BUSY_MAX: Duration = Duration::from_secs(5);
const BUSY_STEP: Duration = Duration::from_millis(100);

/// Executes commands in a running server or in this process.
pub(super) enum Operator {
    Server(AdminClient),
    /// This process, with the tasks that register it among the servers on the store.
    Core(Box<Core>, Operated, JoinSet<()>),
}

impl Operator {
    /// `create` allows a store without data.
    pub(super) async fn reach(config: &Config, create: bool) -> anyhow::Result<Self> {
        let folder = config.data_folder();
        let is_embedded = matches!(config.store_location(), StoreLocation::Embedded(_));
        if is_embedded && !create && !folder.exists() {
            bail!("there is no data in {}; set the folder with --data", folder.display());
        }
        let mut config = config.clone();
        config.store.cassandra.migrate_at_start &= create;
        let began = Instant::now();
        loop {
            let server = AdminClient::connect(folder).await;
            if let Some(server) =
                server.context("cannot connect to the running server; only the user who runs it can")?
            {
                let mut operator = Self::Server(server);
                operator.check_store(&config).await?;
                return Ok(operator);
            }
            match Core::open(&config, Role::Operator).await {
                Ok(core) => {
                    let mut tasks = JoinSet::new();
                    core.join_to_tell(&mut tasks).await;
                    let operated =
                        Operated { app: core.app.clone(), store: config.store_location(), transfers: None };
                    return Ok(Self::Core(Box::new(core), operated, tasks));
                }
                Err(error) if error.is_busy() && began.elapsed() < BUSY_MAX => sleep(BUSY_STEP).await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A server with other data may use the same folder. Without a named store, the server's store is meant.
    async fn check_store(&mut self, config: &Config) -> anyhow::Result<()> {
        let Some(ours) = config.store.url.clone() else { return Ok(()) };
        match self.ask(AdminCommand::WhichStore).await? {
            AdminReply::Store(theirs) if theirs.is_same(&ours.clone().absolute()) => Ok(()),
            AdminReply::Store(theirs) => bail!(
                "the server that uses {} has its data in {theirs}, not in {ours}: set another folder with --data",
                config.data_folder().display()
            ),
            _ => bail!("the running server does not say where its data is; it may have another version"),
        }
    }

    /// The reply, unless the command was refused.
    pub(super) async fn ask(&mut self, command: AdminCommand) -> anyhow::Result<AdminReply> {
        let reply = match self {
            Self::Server(client) => {
                client.ask(&command).await.context("the running server does not answer")?
            }
            Self::Core(_, operated, _) => execute(operated, command).await,
        };
        match reply {
            AdminReply::Refused(reason) => bail!(reason),
            reply => Ok(reply),
        }
    }

    /// Closes the data cleanly.
    pub(super) async fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Server(_) => Ok(()),
            Self::Core(core, _, mut tasks) => {
                if let Some(cluster) = &core.cluster {
                    cluster.leave().await;
                }
                tasks.shutdown().await;
                Ok(core.close().await?)
            }
        }
    }
}
