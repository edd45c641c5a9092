//! Who has the keyspace open: the servers, so that none is there that the others cannot speak to, and others for a moment.
//!
//! A server says that it is there before it looks who else is. So of two that start at the same time at least one sees the
//! other. Which entries a log has does not depend on it: a server that is there all the same would show what is old, and
//! deliver to nobody but its own clients.
//!
//! Whoever [moves everything to another store](crate::transfer) waits for all who are here, so each of them says how far it
//! has come with that.

use std::fmt;
use std::sync::Arc;

use godwit_domain::ports::StoreError;
use scylla::DeserializeRow;
use scylla::errors::PrepareError;
use scylla::value::CqlValue;
use thiserror::Error;
use uuid::Uuid;

use crate::cql::{Cql, Read, Together, Write};
use crate::values::{bigint, text};

/// How long somebody counts as there after they were last heard of.
pub(crate) const TTL_SECS: u64 = 30;
/// The one partition.
const SITE: &str = "here";

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

/// How far somebody has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Standing {
    /// All writes of earlier rounds have ended.
    pub(crate) round: u64,
    pub(crate) ids: Given,
}

/// How far somebody has gone with their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Given {
    /// Under which the number of their ids is leased. Nil while there is none.
    pub(crate) lease: Uuid,
    /// The highest one.
    pub(crate) last: u64,
}

/// Somebody who has the keyspace open.
#[derive(Debug, Clone)]
pub(crate) struct Present {
    handle: Uuid,
    /// None for what is no server.
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
    moving_round: Option<i64>,
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
            standing: Standing { round: row.moving_round.map_or(0, i64::cast_unsigned), ids },
        }
    }
}

#[derive(Debug)]
pub(crate) struct Servers {
    cql: Arc<Cql>,
    /// Of this opening of the store, and of no other.
    handle: Uuid,
    me: Option<ServerName>,
    all: Read,
    put: Write,
    put_name: Write,
    remove: Write,
    remove_name: Write,
}

impl Servers {
    /// Says that this one is there, unless it is a server and must not be.
    pub(crate) async fn join(cql: Arc<Cql>, me: Option<ServerName>) -> Result<Self, ServersError> {
        let of_handle = "WHERE site = ? AND handle = ?";
        let servers = Self {
            all: cql
                .prepare_read(
                    "SELECT handle, server, host, alone, moving_round, lease, last_id FROM servers WHERE site = ?",
                )
                .await?,
            put: cql
                .prepare_write(&format!(
                    "UPDATE servers USING TTL {TTL_SECS} SET moving_round = ?, lease = ?, last_id = ? {of_handle}"
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

    /// Everybody who is there, this one included.
    pub(crate) async fn all(&self) -> Result<Vec<Present>, StoreError> {
        let rows: Vec<Row> = self.cql.rows("look who is on the keyspace", &self.all, (SITE,)).await?;
        Ok(rows.into_iter().map(Present::from).collect())
    }

    /// Says that this one is there, and how far it has come.
    pub(crate) async fn say(&self, standing: Standing) -> Result<(), StoreError> {
        let handle = || [text(SITE), CqlValue::Uuid(self.handle)];
        let Standing { round, ids } = standing;
        let mut together = Together::new();
        let values = [bigint(round), CqlValue::Uuid(ids.lease), bigint(ids.last)];
        together.write(&self.put, [values.as_slice(), &handle()].concat());
        if let Some(ServerName { server, host, alone }) = &self.me {
            let values = [text(server), text(host), CqlValue::Boolean(*alone)];
            together.write(&self.put_name, [values.as_slice(), &handle()].concat());
        }
        self.cql.write_together("say that this server is there", together).await
    }

    pub(crate) async fn leave(&self) {
        if let Err(error) = self.say_goodbye().await {
            tracing::debug!(%error, "the cluster was not told that this server goes; it will know by itself");
        }
    }

    /// Also for itself before it was killed: what stands there then is nobody whom other servers have to mind.
    async fn say_goodbye(&self) -> Result<(), StoreError> {
        let goes = "say that this server goes";
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
