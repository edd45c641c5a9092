//! The servers on the keyspace, so that none is there that the others cannot speak to.
//!
//! A server says that it is there before it looks who else is. So of two that start at the same time at least one sees the
//! other. Which entries a log has does not depend on it: a server that is there all the same would show what is old, and
//! deliver to nobody but its own clients.

use std::sync::Arc;
use std::time::Duration;

use godwit_domain::ports::StoreError;
use scylla::errors::PrepareError;
use thiserror::Error;
use tokio::time::sleep;

use crate::cql::{Cql, Read, Write};

/// How long a server counts as there after it was last heard of.
const TTL_SECS: u64 = 30;
const RENEW_INTERVAL: Duration = Duration::from_secs(8);

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerName {
    /// The same one after a restart: it never stands in its own way.
    pub server: String,
    /// Of the machine, for people.
    pub host: String,
    /// It hears nothing of other servers.
    pub alone: bool,
}

#[derive(Debug, Error)]
pub enum ServersError {
    #[error(
        "another server is on this keyspace (on {host}, or it was there less than {TTL_SECS} seconds ago): several servers \
         must hear of each other, start each of them with --redis"
    )]
    Another { host: String },
    #[error(
        "a server without --redis is on this keyspace (on {host}, or it was there less than {TTL_SECS} seconds ago): \
         stop it, and start it with --redis as well"
    )]
    Alone { host: String },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the cluster does not take a statement of this build")]
    Prepare(#[from] PrepareError),
}

#[derive(Debug)]
pub(crate) struct Servers {
    cql: Arc<Cql>,
    me: ServerName,
    all: Read,
    put: Write,
    remove: Write,
}

impl Servers {
    /// Says that this server is there, unless it must not be.
    pub(crate) async fn join(cql: Arc<Cql>, me: ServerName) -> Result<Self, ServersError> {
        let servers = Self {
            all: cql.prepare_read("SELECT server, host, alone FROM servers").await?,
            put: cql
                .prepare_write(&format!(
                    "INSERT INTO servers (server, host, alone) VALUES (?, ?, ?) USING TTL {TTL_SECS}"
                ))
                .await?,
            remove: cql.prepare_write("DELETE FROM servers WHERE server = ?").await?,
            cql,
            me,
        };
        servers.write().await?;
        if let Err(error) = servers.look().await {
            servers.leave().await;
            return Err(error);
        }
        Ok(servers)
    }

    async fn look(&self) -> Result<(), ServersError> {
        let rows: Vec<(String, Option<String>, Option<bool>)> =
            self.cql.rows("look who is on the keyspace", &self.all, ()).await?;
        for (server, host, alone) in rows {
            let host = host.unwrap_or_default();
            if server == self.me.server {
                continue;
            }
            if self.me.alone {
                return Err(ServersError::Another { host });
            }
            if alone == Some(true) {
                return Err(ServersError::Alone { host });
            }
        }
        Ok(())
    }

    /// Says so again, until the future is dropped.
    pub(crate) async fn run(&self) {
        loop {
            sleep(RENEW_INTERVAL).await;
            if let Err(error) = self.write().await {
                tracing::debug!(%error, "the cluster was not told that this server is there");
            }
        }
    }

    pub(crate) async fn leave(&self) {
        let values = (self.me.server.as_str(),);
        if let Err(error) = self.cql.write("say that this server goes", &self.remove, values).await {
            tracing::debug!(%error, "the cluster was not told that this server goes; it will know by itself");
        }
    }

    async fn write(&self) -> Result<(), StoreError> {
        let values = (self.me.server.as_str(), self.me.host.as_str(), self.me.alone);
        self.cql.write("say that this server is there", &self.put, values).await
    }
}
