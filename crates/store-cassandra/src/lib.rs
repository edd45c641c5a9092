//! The store ports on Apache Cassandra and ScyllaDB: any number of nodes on one keyspace, with the guarantees of the
//! embedded store.
//!
//! - [`accounts`]: users and all that is one user's; one partition each, changed by compare-and-set
//! - [`conversations`]: logs, appended to by compare-and-set, and what follows from them
//! - [`inbox`]: a user's list of conversations
//! - [`personal`]: messages deleted for oneself, starred and scheduled ones; [`due`]: what is to happen at a time
//! - [`installation`]: what there is one of
//! - [`servers`]: who is on the keyspace
//! - [`transfer`]: moving everything to another store, and the gate that all writes pass for it
//! - [`lease`], [`skew`]: the node number of this node's ids, and its clock; [`probe`]: whether the cluster answers
//! - [`schema`]: the tables, in `migrations/`, and how they come to be
//! - [`records`]: what is written as JSON
//! - [`connect`], [`options`], [`cql`], [`merge`], [`turns`], [`pause`], [`values`]: the way to the cluster
//!
//! Correctness rests on two things alone: compare-and-set within one partition, and writes that can be repeated and come in
//! any order, because they carry their own version as the timestamp or always say the same. No clock is compared with
//! another one's, and no node relies on being the only one.

mod accounts;
mod connect;
mod conversations;
mod cql;
mod due;
mod inbox;
mod installation;
mod lease;
mod merge;
pub mod options;
mod pause;
mod personal;
mod probe;
mod records;
pub mod schema;
mod servers;
mod skew;
#[cfg(test)]
mod test_faults;
#[cfg(test)]
mod test_keyspace;
mod transfer;
mod turns;
mod values;

use std::sync::Arc;

use async_trait::async_trait;
use godwit_domain::ports::{Clock, Store, StoreError};
use godwit_domain::snowflake::IdGenerator;
use scylla::errors::PrepareError;
use thiserror::Error;
use tokio::task::{AbortHandle, JoinSet};

pub use connect::ConnectError;
pub use inbox::EpochTerms;
pub use lease::LeaseError;
pub use options::Options;
pub use schema::SchemaError;
pub use servers::{ServerName, ServersError};
pub use skew::ClockError;

use accounts::Accounts;
use conversations::Conversations;
use cql::Cql;
use due::Due;
use inbox::Inbox;
use installation::Installation;
use lease::NodeLease;
use personal::Hidden;
use probe::Probe;
use servers::Servers;
use transfer::{Gate, Ledger, Rounds};

/// From the moment when a message gets its time to that when it can be read, whatever happens between.
const APPEND_MS_MAX: i64 = 60_000;

/// The ports on a keyspace that any number of nodes share.
#[derive(Debug)]
pub struct CassandraStore {
    cql: Arc<Cql>,
    accounts: Arc<Accounts>,
    conversations: Arc<Conversations>,
    inbox: Arc<Inbox>,
    hidden: Hidden,
    due: Arc<Due>,
    installation: Installation,
    lease: Arc<NodeLease>,
    ids: IdGenerator,
    probe: Arc<Probe>,
    servers: Arc<Servers>,
    gate: Arc<Gate>,
    rounds: Rounds,
    /// What keeps this one among those who are on the keyspace.
    presence: [AbortHandle; 2],
    /// Ends with the store.
    _background: JoinSet<()>,
}

#[derive(Debug, Error)]
pub enum OpenError {
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error("the cluster does not take a statement of this build")]
    Prepare(#[from] PrepareError),
    #[error(transparent)]
    Clock(#[from] ClockError),
    #[error(transparent)]
    Lease(#[from] LeaseError),
    #[error(transparent)]
    Servers(#[from] ServersError),
}

impl CassandraStore {
    /// Connects, makes or checks the schema, says that it is there, and leases a node number.
    pub async fn open(options: Options, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let session = schema::prepare(&options).await?;
        let cql = Arc::new(Cql::new(session, &options));
        skew::check(&cql, &clock).await?;
        let servers = Arc::new(Servers::join(cql.clone(), options.server.clone()).await?);
        let opened = Box::pin(Self::open_joined(cql, servers.clone(), &options, clock)).await;
        if opened.is_err() {
            servers.leave().await;
        }
        opened
    }

    async fn open_joined(
        cql: Arc<Cql>,
        servers: Arc<Servers>,
        options: &Options,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        let (lease, ids) = NodeLease::take(cql.clone(), clock.clone()).await?;
        let lease = Arc::new(lease);
        let ledger = Arc::new(Ledger::new(cql.clone(), servers.clone(), lease.clone()).await?);
        let gate = Gate::open(ledger.clone()).await.map_err(ServersError::Store)?;
        let accounts = Arc::new(Accounts::new(cql.clone(), gate.clone()).await?);
        let (recent_max, terms) = (options.inbox_recent_max, options.inbox_epochs);
        let inbox =
            Arc::new(Inbox::new(cql.clone(), accounts.clone(), recent_max, terms, gate.clone()).await?);
        let due = Arc::new(Due::new(cql.clone(), clock).await?);
        let conversations =
            Conversations::new(cql.clone(), accounts.clone(), inbox.clone(), due.clone(), gate.clone());
        let conversations = Box::pin(conversations).await?;
        let hidden = Hidden::new(cql.clone()).await?;
        let installation = Installation::new(cql.clone()).await?;
        let rounds = Rounds::new(ledger, gate.clone());
        let probe = Arc::new(Probe::default());
        let mut background = JoinSet::new();
        let (projections, probing) = (conversations.clone(), probe.clone());
        let [probed, staying, following] = [(); 3].map(|()| gate.clone());
        background.spawn(async move { projections.run().await });
        background.spawn(async move { probing.run(&probed).await });
        let presence = [
            background.spawn(async move { staying.stay().await }),
            background.spawn(async move { following.follow().await }),
        ];
        Ok(Self {
            cql,
            accounts,
            conversations,
            inbox,
            hidden,
            due,
            installation,
            lease,
            ids,
            probe,
            servers,
            gate,
            rounds,
            presence,
            _background: background,
        })
    }

    /// Requests to the cluster since the store was opened.
    pub fn requests(&self) -> u64 {
        self.cql.requests()
    }

    /// Writes what is left, and gives the node number back. Nothing may use the store after it.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.conversations.close().await?;
        self.lease.release().await;
        self.presence.iter().for_each(AbortHandle::abort);
        self.servers.leave().await;
        Ok(())
    }
}

#[async_trait]
impl Store for CassandraStore {
    fn ids(&self) -> &IdGenerator {
        &self.ids
    }

    async fn signing_key(&self, offered: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.installation.signing_key(offered).await
    }

    fn activity_lag_ms(&self) -> i64 {
        2 * skew::CLOCK_SKEW_MS_MAX + APPEND_MS_MAX
    }

    fn health(&self) -> Result<(), StoreError> {
        self.gate.health()?;
        self.lease.health()?;
        self.probe.health()
    }
}
