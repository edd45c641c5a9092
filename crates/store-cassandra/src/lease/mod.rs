//! The lease of the node number that makes a node's ids unique, in `node_leases`.
//!
//! A row names the owner of a number, which expires [`Terms::ttl`] after the last renewal, and the ceiling of
//! the ids given out with the number. Numbers are taken, renewed and released by conditional writes, so two
//! nodes never own the same number, and the next owner starts above the ceiling. Cassandra's clocks decide when
//! a row expires. The node itself obeys [`Lease`], which expires before the row.
//!
//! A number with a ceiling in the future of a node's clock is not taken, because ids contain the time of a
//! message. So the number of a crashed node rests for up to [`REACH_MS`].
//!
//! [`beginning`]: the id after which a store begins when its data was transferred from another one.

mod beginning;
#[cfg(test)]
mod on_cassandra;

use std::num::TryFromIntError;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use godwit_domain::ports::{Clock, StoreError};
use godwit_domain::snowflake::{Grant, IdGenerator, Lease, first_id_at, time_of};
use scylla::errors::PrepareError;
use scylla::value::CqlValue;
use thiserror::Error;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::cql::{Batch, Conditional, Cql, Outcome, Read, SerialRead, Write};
use crate::servers::Given;
use crate::values::{bigint, int};
use beginning::Beginning;

/// How far ahead of the clock ids may run before the next renewal, in milliseconds. Ids run ahead when another
/// node's clock is minutes ahead.
const REACH_MS: i64 = 10 * 60_000;
/// The pause after a failed renewal.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The terms of a lease.
#[derive(Debug, Clone)]
struct Terms {
    /// How long a number stays with a node that does not renew it. In whole seconds.
    ttl: Duration,
    renew_interval: Duration,
    /// How much earlier than the row the lease expires for the node itself. It covers the differences between
    /// Cassandra's clocks, and the time between a look at the clock and the use of an id.
    margin: Duration,
    numbers: Range<u16>,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(60),
            renew_interval: Duration::from_secs(15),
            margin: Duration::from_secs(10),
            numbers: 0..IdGenerator::NODES_MAX,
        }
    }
}

/// A node number, renewed until this is dropped. If it is lost, because Cassandra was unreachable for too long,
/// another number replaces it.
#[derive(Debug)]
pub(crate) struct NodeLease {
    keeper: Arc<Keeper>,
    renewing: JoinHandle<()>,
}

#[derive(Debug, Error)]
pub enum LeaseError {
    #[error(
        "no node number is free: {in_use} are in use, and {resting} were released minutes ago or have ids later than this \
         machine's clock: check the clock, or wait ten minutes"
    )]
    NoneFree { in_use: usize, resting: usize },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the cluster rejects a statement of this build")]
    Prepare(#[from] PrepareError),
}

impl NodeLease {
    pub(crate) async fn take(
        cql: Arc<Cql>,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, IdGenerator), LeaseError> {
        let terms = Terms::default();
        let first = rand::random_range(terms.numbers.clone());
        Self::take_from(first, cql, clock, terms).await
    }

    /// Tries the numbers from `first` on. A random `first` keeps nodes that start together from trying the same
    /// number.
    async fn take_from(
        first: u16,
        cql: Arc<Cql>,
        clock: Arc<dyn Clock>,
        terms: Terms,
    ) -> Result<(Self, IdGenerator), LeaseError> {
        let rows = Rows::prepare(cql.clone(), &terms).await?;
        let register =
            Register { rows, beginning: Beginning::prepare(cql).await?, clock: clock.clone(), terms };
        let (held, grant) = register.take(first, 0).await?;
        tracing::info!(node = held.node, "leased a node number");
        let lease = Arc::new(Lease::new(grant));
        let ids = IdGenerator::leased(clock, lease.clone());
        let keeper = Arc::new(Keeper { register, lease, held: Mutex::new(held) });
        let renewing = tokio::spawn({
            let keeper = keeper.clone();
            async move { keeper.run().await }
        });
        Ok((Self { keeper, renewing }, ids))
    }

    /// Fails when no id can be given out.
    pub(crate) fn health(&self) -> Result<(), StoreError> {
        Ok(self.keeper.lease.check()?)
    }

    /// The highest id that this node has given out, and its lease.
    pub(crate) fn given(&self) -> Given {
        let lease = self.keeper.held().owner;
        Given { lease, last: self.keeper.lease.last() }
    }

    /// Ends the lease. No id is given out after this, and another node may take the number at once.
    pub(crate) async fn release(&self) {
        self.renewing.abort();
        let last = self.keeper.lease.end();
        let held = *self.keeper.held();
        match self.keeper.register.rows.release(held, last).await {
            Outcome::Applied => tracing::debug!(node = held.node, "released the node number"),
            Outcome::NotApplied => {}
            Outcome::Unknown(error) => {
                tracing::warn!(node = held.node, %error, "could not release the node number; it expires on its own");
            }
        }
    }
}

impl Drop for NodeLease {
    fn drop(&mut self) {
        self.renewing.abort();
        self.keeper.lease.end();
    }
}

/// A number, and the name of this node as its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    node: u16,
    owner: Uuid,
}

/// The task that renews the lease.
#[derive(Debug)]
struct Keeper {
    register: Register,
    lease: Arc<Lease>,
    held: Mutex<Held>,
}

enum Renewal {
    Renewed,
    /// The row has another owner or none, because too much time has passed.
    Lost,
    Failed(StoreError),
}

impl Keeper {
    async fn run(&self) {
        let mut is_failing = false;
        loop {
            self.wait(is_failing).await;
            match self.renew_or_replace().await {
                Ok(()) => {
                    if is_failing {
                        tracing::info!("renewed the lease of the node number");
                    }
                    is_failing = false;
                }
                Err(error) => {
                    if !is_failing {
                        tracing::warn!(%error, "cannot renew the lease of the node number; retrying, and refusing new ids when it expires");
                    }
                    is_failing = true;
                }
            }
        }
    }

    async fn wait(&self, is_failing: bool) {
        if is_failing {
            return sleep(RETRY_INTERVAL).await;
        }
        tokio::select! {
            () = sleep(self.register.terms.renew_interval) => {}
            () = self.lease.too_low() => {}
        }
    }

    async fn renew_or_replace(&self) -> Result<(), LeaseError> {
        let held = *self.held();
        match self.register.renew(held, &self.lease).await {
            Renewal::Renewed => Ok(()),
            Renewal::Failed(error) => Err(error.into()),
            Renewal::Lost => self.replace(held).await,
        }
    }

    /// Takes another number. Ids given out with the old one are below its ceiling, so the server can continue.
    async fn replace(&self, lost: Held) -> Result<(), LeaseError> {
        self.lease.end();
        let first = rand::random_range(self.register.terms.numbers.clone());
        let (held, grant) = self.register.take(first, self.lease.wanted()).await?;
        *self.held() = held;
        self.lease.begin(grant);
        tracing::warn!(lost = lost.node, node = held.node, "lost the node number; leased another one");
        Ok(())
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The node numbers, their owners, and the rules for taking one.
#[derive(Debug)]
struct Register {
    rows: Rows,
    beginning: Beginning,
    clock: Arc<dyn Clock>,
    terms: Terms,
}

impl Register {
    /// Takes the first free number, in the order from `first`, with a ceiling above `wanted`.
    async fn take(&self, first: u16, wanted: u64) -> Result<(Held, Grant), LeaseError> {
        let Range { start, end } = self.terms.numbers.clone();
        let beginning = self.beginning.read().await?;
        let (mut in_use, mut resting) = (0, 0);
        for node in (first..end).chain(start..first) {
            let found = self.rows.look(node).await?;
            if found.owner.is_some() {
                in_use += 1;
                continue;
            }
            if found.ceiling.is_some_and(|ceiling| time_of(ceiling) > self.clock.now()) {
                resting += 1;
                continue;
            }
            match self.take_number(node, &found, beginning, wanted).await? {
                Some(taken) => return Ok(taken),
                None => in_use += 1,
            }
        }
        Err(LeaseError::NoneFree { in_use, resting })
    }

    /// `None` when another node was faster.
    async fn take_number(
        &self,
        node: u16,
        found: &LeaseRow,
        beginning: u64,
        wanted: u64,
    ) -> Result<Option<(Held, Grant)>, StoreError> {
        let held = Held { node, owner: Uuid::from_u128(rand::random()) };
        let floor = found.ceiling.unwrap_or(0).max(beginning);
        let ceiling = self.ceiling(wanted.max(floor));
        let sent = Instant::now();
        let is_taken = match self.rows.take(held, found.ceiling, ceiling).await {
            Outcome::Applied => true,
            Outcome::NotApplied => false,
            // If this is not answered either, the number is given up and expires.
            Outcome::Unknown(_) => {
                self.rows.settled(node).await.is_ok_and(|row| row.owner == Some(held.owner))
            }
        };
        Ok(is_taken.then(|| (held, Grant { node, floor, ceiling, until: self.until(sent) })))
    }

    async fn renew(&self, held: Held, lease: &Lease) -> Renewal {
        let ceiling = self.ceiling(lease.wanted());
        let sent = Instant::now();
        let error = match self.rows.renew(held, ceiling).await {
            Outcome::Applied => {
                lease.renew(ceiling, self.until(sent));
                return Renewal::Renewed;
            }
            Outcome::NotApplied => return Renewal::Lost,
            Outcome::Unknown(error) => error,
        };
        match self.rows.settled(held.node).await {
            Ok(row) if row.owner != Some(held.owner) => Renewal::Lost,
            Ok(row) if row.ceiling == Some(ceiling) => {
                lease.renew(ceiling, self.until(sent));
                Renewal::Renewed
            }
            Ok(_) | Err(_) => Renewal::Failed(error),
        }
    }

    /// A ceiling above `wanted` and above all ids expected before the next renewal.
    fn ceiling(&self, wanted: u64) -> u64 {
        first_id_at(time_of(wanted).max(self.clock.now()).plus_millis(REACH_MS))
    }

    /// When the lease expires for this node. The time to live of the row begins after the request was sent, so
    /// a deadline counted from `sent` comes first.
    fn until(&self, sent: Instant) -> Instant {
        sent + self.terms.ttl.saturating_sub(self.terms.margin)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseRow {
    pub(crate) owner: Option<Uuid>,
    /// All ids with this number are at or below it.
    pub(crate) ceiling: Option<u64>,
}

impl LeaseRow {
    fn read(node: i32, row: Option<(Option<Uuid>, Option<i64>)>) -> Result<Self, StoreError> {
        let (owner, ceiling) = row.unwrap_or_default();
        let corrupt = |error: TryFromIntError| StoreError::Corrupt {
            table: "node_leases",
            key: node.to_string(),
            reason: error.to_string(),
        };
        Ok(Self { owner, ceiling: ceiling.map(u64::try_from).transpose().map_err(corrupt)? })
    }
}

const LOOK: &str = "SELECT owner, ceiling FROM node_leases WHERE node = ?";

/// The statements of the table.
#[derive(Debug)]
struct Rows {
    cql: Arc<Cql>,
    look: Read,
    look_settled: SerialRead,
    take_unused: Conditional,
    take_used: Conditional,
    renew: Conditional,
    release: Conditional,
    set_ceiling: Write,
}

impl Rows {
    async fn prepare(cql: Arc<Cql>, terms: &Terms) -> Result<Self, PrepareError> {
        // Only the owner has a time to live.
        let own =
            format!("UPDATE node_leases USING TTL {} SET owner = ? WHERE node = ?", terms.ttl.as_secs());
        Ok(Self {
            look: cql.prepare_read(LOOK).await?,
            look_settled: cql.prepare_serial_read(LOOK).await?,
            take_unused: cql
                .prepare_conditional(&format!("{own} IF owner = null AND ceiling = null"))
                .await?,
            take_used: cql.prepare_conditional(&format!("{own} IF owner = null AND ceiling = ?")).await?,
            renew: cql.prepare_conditional(&format!("{own} IF owner = ?")).await?,
            release: cql
                .prepare_conditional(
                    "UPDATE node_leases SET owner = null, ceiling = ? WHERE node = ? IF owner = ?",
                )
                .await?,
            set_ceiling: cql.prepare_write("UPDATE node_leases SET ceiling = ? WHERE node = ?").await?,
            cql,
        })
    }

    /// Reads a row at normal consistency. That suffices for a first look, because the write that follows is
    /// conditional, and unlike a serial read it does not contend with nodes that take the same number.
    async fn look(&self, node: u16) -> Result<LeaseRow, StoreError> {
        let node = i32::from(node);
        LeaseRow::read(node, self.cql.row("read a node number", &self.look, (node,)).await?)
    }

    /// Reads a row after a write whose outcome is unknown.
    async fn settled(&self, node: u16) -> Result<LeaseRow, StoreError> {
        let node = i32::from(node);
        let row = self.cql.serial_row("read back a node number", &self.look_settled, (node,)).await?;
        LeaseRow::read(node, row)
    }

    /// Takes a number that has no owner, provided that its ceiling is still the one that was found.
    async fn take(&self, Held { node, owner }: Held, found: Option<u64>, ceiling: u64) -> Outcome {
        let mut batch = Batch::new();
        let (owner, node) = (CqlValue::Uuid(owner), CqlValue::Int(node.into()));
        match found {
            None => batch.condition(&self.take_unused, [owner, node.clone()]),
            Some(found) => batch.condition(&self.take_used, [owner, node.clone(), bigint(found)]),
        }
        batch.write(&self.set_ceiling, [bigint(ceiling), node]);
        self.cql.conditional_batch("lease a node number", batch).await
    }

    async fn renew(&self, Held { node, owner }: Held, ceiling: u64) -> Outcome {
        let mut batch = Batch::new();
        let (owner, node) = (CqlValue::Uuid(owner), CqlValue::Int(node.into()));
        batch.condition(&self.renew, [owner.clone(), node.clone(), owner]);
        batch.write(&self.set_ceiling, [bigint(ceiling), node]);
        self.cql.conditional_batch("renew the lease of the node number", batch).await
    }

    async fn release(&self, Held { node, owner }: Held, ceiling: u64) -> Outcome {
        let values = (int(ceiling), i32::from(node), owner);
        self.cql.conditional("release the node number", &self.release, values).await
    }
}
