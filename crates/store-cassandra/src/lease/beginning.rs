//! The id after which this store begins: after a transfer, new ids must be above those that came with the data.

use std::sync::Arc;

use godwit_domain::ports::StoreError;
use scylla::errors::PrepareError;
use uuid::Uuid;

use super::{LeaseRow, NodeLease};
use crate::cql::{Conditional, Cql, Outcome, Read, SerialRead, unavailable};
use crate::pause::pause;
use crate::records::corrupt;

/// The name of the row in `installation`.
const IDS_AFTER: &str = "ids_after";
/// Attempts while other processes do the same, or while Cassandra does not answer.
const ATTEMPTS_MAX: u32 = 16;

#[derive(Debug)]
pub(super) struct Beginning {
    cql: Arc<Cql>,
    read: Read,
    read_settled: SerialRead,
    begin: Conditional,
    raise: Conditional,
    leases: Read,
}

impl Beginning {
    pub(super) async fn prepare(cql: Arc<Cql>) -> Result<Self, PrepareError> {
        let read = "SELECT value FROM installation WHERE name = ?";
        Ok(Self {
            read: cql.prepare_read(read).await?,
            read_settled: cql.prepare_serial_read(read).await?,
            begin: cql
                .prepare_conditional("INSERT INTO installation (name, value) VALUES (?, ?) IF NOT EXISTS")
                .await?,
            raise: cql
                .prepare_conditional("UPDATE installation SET value = ? WHERE name = ? IF value = ?")
                .await?,
            leases: cql.prepare_read("SELECT node, owner, ceiling FROM node_leases").await?,
            cql,
        })
    }

    /// All new ids are above this one.
    pub(super) async fn read(&self) -> Result<u64, StoreError> {
        let row = self.cql.row("read the id after which ids begin", &self.read, (IDS_AFTER,)).await?;
        Ok(decode(row)?.unwrap_or(0))
    }

    async fn raise(&self, id: u64) -> Result<(), StoreError> {
        const OPERATION: &str = "set the id after which ids begin";
        let new = id.to_be_bytes().to_vec();
        for attempt in 0..ATTEMPTS_MAX {
            pause(attempt).await;
            let row = self.cql.serial_row(OPERATION, &self.read_settled, (IDS_AFTER,)).await?;
            let outcome = match decode(row)? {
                Some(found) if found >= id => return Ok(()),
                Some(found) => {
                    let values = (&new, IDS_AFTER, found.to_be_bytes().to_vec());
                    self.cql.conditional(OPERATION, &self.raise, values).await
                }
                None => self.cql.conditional(OPERATION, &self.begin, (IDS_AFTER, &new)).await,
            };
            match outcome {
                Outcome::Applied => return Ok(()),
                Outcome::NotApplied => {}
                Outcome::Unknown(error) => tracing::debug!(%error, "reading back the first id"),
            }
        }
        Err(unavailable(OPERATION, "too much contention, or no answer"))
    }
}

impl NodeLease {
    /// All node numbers that were ever leased, and the id after which this store begins.
    pub(crate) async fn all(&self) -> Result<(Vec<LeaseRow>, u64), StoreError> {
        let beginning = &self.keeper.register.beginning;
        let rows: Vec<(i32, Option<Uuid>, Option<i64>)> =
            beginning.cql.rows("read the ceilings of all node numbers", &beginning.leases, ()).await?;
        let lease = |(node, owner, ceiling)| LeaseRow::read(node, Some((owner, ceiling)));
        Ok((rows.into_iter().map(lease).collect::<Result<_, _>>()?, beginning.read().await?))
    }

    /// Sets the id above which every node starts that leases a number from now on.
    pub(crate) async fn begin_ids_after(&self, id: u64) -> Result<(), StoreError> {
        self.keeper.register.beginning.raise(id).await
    }
}

fn decode(row: Option<(Vec<u8>,)>) -> Result<Option<u64>, StoreError> {
    let invalid = |_| corrupt("installation", IDS_AFTER.into(), "it does not have 8 bytes");
    row.map(|(value,)| value.try_into().map(u64::from_be_bytes).map_err(invalid)).transpose()
}
