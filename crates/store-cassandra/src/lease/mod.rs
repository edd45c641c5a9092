//! The number that makes this node's ids its own, leased in `node_leases`.
//!
//! A row says who has a number, for [`Terms::ttl`] after the last renewal, and up to where ids with that number may have
//! been given out. Taking, renewing and releasing are conditional writes, so two nodes never have a number at the same
//! time, and who takes it next begins above everything that was given out before. What becomes of the rows is decided by
//! the cluster; what this node may still do by [`Lease`], which ends before the row does.
//!
//! A number whose ids reach into the future of this node's clock is left alone: ids say when a message was sent. So one
//! whose node has crashed rests for [`REACH_MS`].
//!
//! [`beginning`]: where ids begin when those of another store came before.

mod beginning;
#[cfg(test)]
mod cassandra;

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

use crate::cql::{Conditional, Cql, Outcome, Read, SerialRead, Together, Write};
use crate::servers::Given;
use crate::values::{bigint, int};
use beginning::Beginning;

/// How far ahead of the clock ids may go before the next renewal: a node whose clock is minutes ahead pushes the ids of
/// the others forward.
const REACH_MS: i64 = 10 * 60_000;
/// How long to wait after a renewal that failed.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// How a lease is held.
#[derive(Debug, Clone)]
struct Terms {
    /// How long a number stays with a node that is not heard of. In whole seconds.
    ttl: Duration,
    renew_interval: Duration,
    /// So much earlier than the row this node believes that its lease is over: for clocks of the cluster that differ, and
    /// for the time between the look at the clock and the use of an id.
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

/// A number that is renewed as long as this lives. If it is lost, because the cluster was away for too long, another one
/// takes its place.
#[derive(Debug)]
pub(crate) struct NodeLease {
    keeper: Arc<Keeper>,
    renewing: JoinHandle<()>,
}

#[derive(Debug, Error)]
pub enum LeaseError {
    #[error(
        "no node number is free: {in_use} are in use, {resting} were in use minutes ago or have ids later than this \
         machine's clock: check the clock, or wait ten minutes"
    )]
    NoneFree { in_use: usize, resting: usize },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the cluster does not take a statement of this build")]
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

    /// `first` is the number that is looked at first, so that nodes that start together do not want the same.
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
        tracing::info!(node = held.node, "this node's number is leased");
        let lease = Arc::new(Lease::new(grant));
        let ids = IdGenerator::leased(clock, lease.clone());
        let keeper = Arc::new(Keeper { register, lease, held: Mutex::new(held) });
        let renewing = tokio::spawn({
            let keeper = keeper.clone();
            async move { keeper.run().await }
        });
        Ok((Self { keeper, renewing }, ids))
    }

    /// Whether ids can be given out.
    pub(crate) fn health(&self) -> Result<(), StoreError> {
        Ok(self.keeper.lease.check()?)
    }

    /// How far this node has gone with its ids.
    pub(crate) fn given(&self) -> Given {
        let lease = self.keeper.held().owner;
        Given { lease, last: self.keeper.lease.last() }
    }

    /// Ends it. No id is given out from here on, and another node may have the number at once.
    pub(crate) async fn release(&self) {
        self.renewing.abort();
        let last = self.keeper.lease.end();
        let held = *self.keeper.held();
        match self.keeper.register.rows.release(held, last).await {
            Outcome::Applied => tracing::debug!(node = held.node, "this node's number is released"),
            Outcome::NotApplied => {}
            Outcome::Unknown(error) => {
                tracing::warn!(node = held.node, %error, "this node's number was not released; it will be free by itself");
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

/// A number, and the name under which this node has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    node: u16,
    owner: Uuid,
}

/// What renews the lease.
#[derive(Debug)]
struct Keeper {
    register: Register,
    lease: Arc<Lease>,
    held: Mutex<Held>,
}

enum Renewal {
    Renewed,
    /// The row is somebody else's or nobody's: too much time has passed.
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
                        tracing::info!("the lease of this node's number is renewed again");
                    }
                    is_failing = false;
                }
                Err(error) => {
                    if !is_failing {
                        tracing::warn!(%error, "the lease of this node's number cannot be renewed, trying on; ids are refused when it ends");
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

    /// Another number: what was given out with the old one stays below its ceiling, so nothing has to stop.
    async fn replace(&self, lost: Held) -> Result<(), LeaseError> {
        self.lease.end();
        let first = rand::random_range(self.register.terms.numbers.clone());
        let (held, grant) = self.register.take(first, self.lease.wanted()).await?;
        *self.held() = held;
        self.lease.begin(grant);
        tracing::warn!(lost = lost.node, node = held.node, "this node's number was lost, it has another one");
        Ok(())
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The numbers, who has them and who may.
#[derive(Debug)]
struct Register {
    rows: Rows,
    beginning: Beginning,
    clock: Arc<dyn Clock>,
    terms: Terms,
}

impl Register {
    /// Looks at all numbers, beginning with `first`, and takes the first free one. Its ceiling is above `wanted`.
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

    /// `None` when somebody else was faster.
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
            // If this cannot be answered either, the number is left alone and will be free by itself.
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

    /// Above whatever is wanted and will be until the next renewal.
    fn ceiling(&self, wanted: u64) -> u64 {
        first_id_at(time_of(wanted).max(self.clock.now()).plus_millis(REACH_MS))
    }

    /// The row's time to live begins after the request was sent, so counted from there this ends before it.
    fn until(&self, sent: Instant) -> Instant {
        sent + self.terms.ttl.saturating_sub(self.terms.margin)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseRow {
    pub(crate) owner: Option<Uuid>,
    /// No id with this number is above it.
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

/// The table.
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
        // Only the owner ends by itself.
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

    /// Good for a first look: whoever acts on it does so on the condition that it is still true. Unlike the other one it
    /// is not held up by nodes that want the same number.
    async fn look(&self, node: u16) -> Result<LeaseRow, StoreError> {
        let node = i32::from(node);
        LeaseRow::read(node, self.cql.row("look at a node number", &self.look, (node,)).await?)
    }

    /// After a write of which nobody said what became of it.
    async fn settled(&self, node: u16) -> Result<LeaseRow, StoreError> {
        let node = i32::from(node);
        let row = self.cql.serial_row("read back a node number", &self.look_settled, (node,)).await?;
        LeaseRow::read(node, row)
    }

    /// If nobody has it, and nobody had it since `found` was its ceiling.
    async fn take(&self, Held { node, owner }: Held, found: Option<u64>, ceiling: u64) -> Outcome {
        let mut together = Together::new();
        let (owner, node) = (CqlValue::Uuid(owner), CqlValue::Int(node.into()));
        match found {
            None => together.condition(&self.take_unused, [owner, node.clone()]),
            Some(found) => together.condition(&self.take_used, [owner, node.clone(), bigint(found)]),
        }
        together.write(&self.set_ceiling, [bigint(ceiling), node]);
        self.cql.conditional_together("lease a node number", together).await
    }

    async fn renew(&self, Held { node, owner }: Held, ceiling: u64) -> Outcome {
        let mut together = Together::new();
        let (owner, node) = (CqlValue::Uuid(owner), CqlValue::Int(node.into()));
        together.condition(&self.renew, [owner.clone(), node.clone(), owner]);
        together.write(&self.set_ceiling, [bigint(ceiling), node]);
        self.cql.conditional_together("renew the lease of the node number", together).await
    }

    async fn release(&self, Held { node, owner }: Held, ceiling: u64) -> Outcome {
        let values = (int(ceiling), i32::from(node), owner);
        self.cql.conditional("release the node number", &self.release, values).await
    }
}
