//! The registry of processes that have the keyspace open: servers, and commands of the operator. A server refuses to
//! start beside another one with which it does not share Redis.
//!
//! A server writes its row before it reads the others, so of two that start at the same time at least one sees
//! the other. The consistency of logs does not depend on it: a server that runs nevertheless would show old
//! data, and deliver only to its own clients.
//!
//! A [transfer](crate::transfer) waits for all processes with a row, so each row says which round the process
//! has reached.

use std::fmt;
use std::sync::Arc;

use godwit_domain::ports::StoreError;
use scylla::DeserializeRow;
use scylla::errors::PrepareError;
use scylla::value::CqlValue;
use thiserror::Error;
use uuid::Uuid;

use crate::cql::{Batch, Cql, Read, Write};
use crate::options::ServerName;
use crate::values::{bigint, text};

/// How long a process counts as present after the last write of its row.
pub(crate) const TTL_SECS: u64 = 30;
/// The key of the one partition.
const SITE: &str = "here";

#[derive(Debug, Error)]
pub enum ServersError {
    #[error(
        "another server uses this keyspace (on {host}, now or less than {TTL_SECS} seconds ago): several servers \
         need Redis, start each of them with --redis"
    )]
    Another { host: String },
    #[error(
        "a server without --redis uses this keyspace (on {host}, now or less than {TTL_SECS} seconds ago): \
         stop it, and start it with --redis as well"
    )]
    Alone { host: String },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the cluster rejects a statement of this build")]
    Prepare(#[from] PrepareError),
}

/// The progress of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Standing {
    /// All writes of earlier rounds have ended.
    pub(crate) round: u64,
    pub(crate) ids: Given,
}

/// The ids that a process has given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Given {
    /// The lease of its node number. Nil without one.
    pub(crate) lease: Uuid,
    /// The highest id given out.
    pub(crate) last: u64,
}

/// A process that has the keyspace open.
#[derive(Debug, Clone)]
pub(crate) struct Present {
    handle: Uuid,
    /// `None` for a process that is not a server.
    server: Option<ServerName>,
    pub(crate) standing: Standing,
}

impl fmt::Display for Present {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(name) => write!(f, "the server on {}", name.host),
            None => write!(f, "process {}, which is no server,", self.handle),
        }
    }
}

#[derive(Debug, DeserializeRow)]
struct Row {
    handle: Uuid,
    server: Option<String>,
    host: Option<String>,
    alone: Option<bool>,
    transfer_round: Option<i64>,
    lease: Option<Uuid>,
    last_id: Option<i64>,
}

impl From<Row> for Present {
    fn from(row: Row) -> Self {
        let host = row.host.unwrap_or_default();
        let name = |server| ServerName { server, host, alone: row.alone == Some(true) };
        let ids =
            Given { lease: row.lease.unwrap_or_default(), last: row.last_id.map_or(0, i64::cast_unsigned) };
        Self {
            handle: row.handle,
            server: row.server.map(name),
            standing: Standing { round: row.transfer_round.map_or(0, i64::cast_unsigned), ids },
        }
    }
}

#[derive(Debug)]
pub(crate) struct Servers {
    cql: Arc<Cql>,
    /// Unique to this opening of the store.
    handle: Uuid,
    me: Option<ServerName>,
    all: Read,
    put: Write,
    put_name: Write,
    remove: Write,
    remove_name: Write,
}

impl Servers {
    /// Registers this process, unless it is a server that must not run beside another one.
    pub(crate) async fn join(cql: Arc<Cql>, me: Option<ServerName>) -> Result<Self, ServersError> {
        let of_handle = "WHERE site = ? AND handle = ?";
        let servers = Self {
            all: cql
                .prepare_read(
                    "SELECT handle, server, host, alone, transfer_round, lease, last_id FROM servers WHERE site = ?",
                )
                .await?,
            put: cql
                .prepare_write(&format!(
                    "UPDATE servers USING TTL {TTL_SECS} SET transfer_round = ?, lease = ?, last_id = ? {of_handle}"
                ))
                .await?,
            put_name: cql
                .prepare_write(&format!(
                    "UPDATE servers USING TTL {TTL_SECS} SET server = ?, host = ?, alone = ? {of_handle}"
                ))
                .await?,
            remove: cql.prepare_write(&format!("DELETE FROM servers {of_handle}")).await?,
            remove_name: cql
                .prepare_write(&format!("DELETE server, host, alone FROM servers {of_handle}"))
                .await?,
            handle: Uuid::from_u128(rand::random()),
            cql,
            me,
        };
        servers.say(Standing::default()).await?;
        if let Err(error) = servers.look().await {
            servers.leave().await;
            return Err(error);
        }
        Ok(servers)
    }

    async fn look(&self) -> Result<(), ServersError> {
        let Some(me) = &self.me else { return Ok(()) };
        let others = self.all().await?.into_iter().filter_map(|present| present.server);
        for other in others.filter(|other| other.server != me.server) {
            if me.alone {
                return Err(ServersError::Another { host: other.host });
            }
            if other.alone {
                return Err(ServersError::Alone { host: other.host });
            }
        }
        Ok(())
    }

    /// All processes that are present, including this one.
    pub(crate) async fn all(&self) -> Result<Vec<Present>, StoreError> {
        let rows: Vec<Row> = self.cql.rows("list the servers on the keyspace", &self.all, (SITE,)).await?;
        Ok(rows.into_iter().map(Present::from).collect())
    }

    /// Writes the row of this process with its progress.
    pub(crate) async fn say(&self, standing: Standing) -> Result<(), StoreError> {
        let handle = || [text(SITE), CqlValue::Uuid(self.handle)];
        let Standing { round, ids } = standing;
        let mut batch = Batch::new();
        let values = [bigint(round), CqlValue::Uuid(ids.lease), bigint(ids.last)];
        batch.write(&self.put, [values.as_slice(), &handle()].concat());
        if let Some(ServerName { server, host, alone }) = &self.me {
            let values = [text(server), text(host), CqlValue::Boolean(*alone)];
            batch.write(&self.put_name, [values.as_slice(), &handle()].concat());
        }
        self.cql.write_batch("write the row of this server", batch).await
    }

    pub(crate) async fn leave(&self) {
        if let Err(error) = self.say_goodbye().await {
            tracing::debug!(%error, "could not remove this server's row; it expires on its own");
        }
    }

    /// Removes the row. Also removes the server name from rows that an earlier, killed run of this server has left, so that
    /// other servers ignore them.
    async fn say_goodbye(&self) -> Result<(), StoreError> {
        let goes = "remove the row of this server";
        if let Some(me) = &self.me {
            for earlier in self.all().await?.into_iter().filter(|present| present.handle != self.handle) {
                if earlier.server.is_some_and(|server| server.server == me.server) {
                    self.cql.write(goes, &self.remove_name, (SITE, earlier.handle)).await?;
                }
            }
        }
        self.cql.write(goes, &self.remove, (SITE, self.handle)).await
    }
}
