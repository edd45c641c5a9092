//! The store ports on Apache Cassandra and ScyllaDB, for any number of servers on one keyspace, with the
//! guarantees of the embedded store.
//!
//! The modules form layers: a module imports only from layers below its own, which a test in `testkit` checks.
//! The embedded store has modules of the same names.
//!
//! ```text
//! ports                        the ports of the domain, one file each; every write passes the gate
//! lib                          CassandraStore
//! conversation                 logs, appended to by compare-and-set, and their projections
//! inbox                        a user's list of conversations
//! account        probe         one partition per user, changed by compare-and-set; the health check
//! transfer                     transfers to another store, and the gate
//! lease                        the node number in the ids of this server
//! due   servers  schema        scheduled work; the servers on the keyspace; the tables, in `migrations/`
//! records  skew  installation  JSON in rows; this machine's clock; the signing key
//! single_flight                concurrent reads of the same key share a query
//! cql                          the connection, and statements of four kinds
//! options  values  pause  keyed_mutex
//! ```
//!
//! Correctness rests on two things alone: compare-and-set within one partition, and idempotent writes that
//! commute, because they use their own version as the timestamp or always write the same value. No clock is
//! compared with another, and no server assumes that it is the only one.

mod account;
mod conversation;
mod cql;
mod due;
mod inbox;
mod installation;
mod keyed_mutex;
mod lease;
pub mod options;
mod pause;
mod ports;
mod probe;
mod records;
pub mod schema;
mod servers;
mod single_flight;
mod skew;
#[cfg(test)]
mod test_faults;
#[cfg(test)]
mod test_keyspace;
mod transfer;
mod values;

use std::sync::Arc;

use async_trait::async_trait;
use godwit_domain::ports::{Clock, Store, StoreError};
use godwit_domain::snowflake::IdGenerator;
use scylla::errors::PrepareError;
use thiserror::Error;
use tokio::task::{AbortHandle, JoinSet};

pub use cql::connect::ConnectError;
pub use lease::LeaseError;
pub use options::{EpochTerms, Options, ServerName};
pub use schema::SchemaError;
pub use servers::ServersError;
pub use skew::ClockError;

use account::Accounts;
use conversation::{Conversations, Hidden};
use cql::Cql;
use due::Due;
use inbox::Inbox;
use installation::Installation;
use lease::NodeLease;
use probe::Probe;
use servers::Servers;
use transfer::{Gate, Ledger, Rounds};

/// The longest time between the moment when a message gets its timestamp and the moment when it can be read, in
/// milliseconds.
const APPEND_MS_MAX: i64 = 60_000;

/// The ports on a keyspace that any number of servers share.
#[derive(Debug)]
pub struct CassandraStore {
    cql: Arc<Cql>,
    accounts: Arc<Accounts>,
    conversations: Arc<Conversations>,
    inbox: Arc<Inbox>,
    hidden: Arc<Hidden>,
    due: Arc<Due>,
    installation: Installation,
    lease: Arc<NodeLease>,
    ids: IdGenerator,
    probe: Arc<Probe>,
    servers: Arc<Servers>,
    gate: Arc<Gate>,
    rounds: Rounds,
    /// The largest difference between the clocks of a server and of Cassandra.
    clock_difference_ms: i64,
    /// The tasks that renew this store's row in `servers`.
    presence: [AbortHandle; 2],
    /// Tasks that are aborted when the store is dropped.
    _background: JoinSet<()>,
}

#[derive(Debug, Error)]
pub enum OpenError {
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error("the cluster rejects a statement of this build")]
    Prepare(#[from] PrepareError),
    #[error(transparent)]
    Clock(#[from] ClockError),
    #[error(transparent)]
    Lease(#[from] LeaseError),
    #[error(transparent)]
    Servers(#[from] ServersError),
}

impl CassandraStore {
    /// Connects, checks or creates the schema, registers in `servers`, and leases a node number.
    pub async fn open(options: Options, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let session = schema::prepare(&options).await?;
        let cql = Arc::new(Cql::new(session, &options));
        skew::check(&cql, &clock, clock_difference_ms(&options)).await?;
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
        let due = Arc::new(Due::new(cql.clone(), clock).await?);
        let accounts = Arc::new(Accounts::new(cql.clone(), due.clone(), gate.clone()).await?);
        let (recent_max, terms) = (options.inbox_recent_max, options.inbox_epochs);
        let inbox =
            Arc::new(Inbox::new(cql.clone(), accounts.clone(), recent_max, terms, gate.clone()).await?);
        let conversations =
            Conversations::new(cql.clone(), accounts.clone(), inbox.clone(), due.clone(), gate.clone());
        let conversations = Box::pin(conversations).await?;
        let hidden = Arc::new(Hidden::new(cql.clone()).await?);
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
            clock_difference_ms: clock_difference_ms(options),
            presence,
            _background: background,
        })
    }

    /// Requests to Cassandra since the store was opened.
    pub fn requests(&self) -> u64 {
        self.cql.requests()
    }

    /// Writes the waiting watermarks, and releases the node number. The store must not be used afterwards.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.conversations.close().await?;
        self.lease.release().await;
        self.presence.iter().for_each(AbortHandle::abort);
        self.servers.leave().await;
        Ok(())
    }
}

fn clock_difference_ms(options: &Options) -> i64 {
    i64::try_from(options.clock_difference_max.as_millis()).unwrap_or(i64::MAX / 4)
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
        // One server may be ahead, and another one behind.
        2 * self.clock_difference_ms + APPEND_MS_MAX
    }

    fn health(&self) -> Result<(), StoreError> {
        self.gate.health()?;
        self.lease.health()?;
        self.probe.health()
    }
}
