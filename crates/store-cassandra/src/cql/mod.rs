//! Statements and their execution. There are four kinds, chosen when a statement is prepared:
//!
//! - [`Read`]: at read consistency; sent to a second node when the first is slow
//! - [`SerialRead`]: sees and completes every conditional write begun before it
//! - [`Write`]: unconditional and idempotent, so the driver retries it when an answer is lost
//! - [`Conditional`]: compare-and-set; never retried by the driver, see [`Cql::conditional`]
//!
//! [`connect`] opens the session.

pub(crate) mod connect;
#[cfg(test)]
mod traces;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use godwit_domain::ports::StoreError;
use scylla::client::execution_profile::{ExecutionProfile, ExecutionProfileBuilder};
use scylla::client::session::Session;
use scylla::deserialize::row::DeserializeRow;
use scylla::errors::{ExecutionError, PrepareError};
use scylla::policies::load_balancing::{DefaultPolicy, LoadBalancingPolicy};
use scylla::policies::retry::{DefaultRetryPolicy, FallthroughRetryPolicy};
use scylla::policies::speculative_execution::SimpleSpeculativeExecutionPolicy;
use scylla::response::query_result::QueryResult;
use scylla::serialize::row::SerializeRow;
use scylla::statement::Consistency;
use scylla::statement::batch as driver;
use scylla::statement::prepared::PreparedStatement;
use scylla::value::{CqlValue, Row};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::sleep;

use crate::options::Options;
#[cfg(test)]
pub(crate) use traces::{ReadCost, RowsRead};

/// Additional nodes that a slow read is sent to.
const SPECULATIVE_READS_MAX: usize = 2;
const SERIAL_READ_ATTEMPTS_MAX: usize = 4;
const SERIAL_READ_PAUSE_MAX: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Cql {
    session: Session,
    profiles: Profiles,
    requests: AtomicU64,
    /// Limits the concurrent requests.
    places: Semaphore,
    #[cfg(test)]
    pub(crate) rows_read: RowsRead,
}

#[derive(Debug)]
struct Profiles {
    read: ExecutionProfile,
    serial_read: ExecutionProfile,
    write: ExecutionProfile,
    conditional: ExecutionProfile,
}

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident)+) => {
        $($(#[$doc])*
        #[derive(Debug, Clone)]
        pub(crate) struct $name(PreparedStatement);)+
    };
}

statements! {
    Read
    SerialRead
    Write
    Conditional
}

/// The result of a conditional write.
#[derive(Debug)]
pub(crate) enum Outcome {
    Applied,
    /// The condition did not hold, so nothing was written.
    NotApplied,
    /// The answer was lost. A [`SerialRead`] completes the write if it was accepted, and shows the result.
    Unknown(StoreError),
}

/// Statements about one partition that are written atomically.
pub(crate) struct Batch {
    statements: driver::Batch,
    values: Vec<Vec<CqlValue>>,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self { statements: driver::Batch::new(driver::BatchType::Unlogged), values: Vec::new() }
    }

    pub(crate) fn write(&mut self, statement: &Write, values: impl Into<Vec<CqlValue>>) {
        self.statements.append_statement(statement.0.clone());
        self.values.push(values.into());
    }

    pub(crate) fn condition(&mut self, statement: &Conditional, values: impl Into<Vec<CqlValue>>) {
        self.statements.append_statement(statement.0.clone());
        self.values.push(values.into());
    }
}

impl Cql {
    pub(crate) fn new(session: Session, options: &Options) -> Self {
        Self {
            session,
            profiles: Profiles::new(options),
            requests: AtomicU64::new(0),
            places: Semaphore::new(options.requests_at_once_max),
            #[cfg(test)]
            rows_read: RowsRead::default(),
        }
    }

    pub(crate) const fn session(&self) -> &Session {
        &self.session
    }

    /// Requests to Cassandra so far, without the driver's retries.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    async fn execute(
        &self,
        statement: &PreparedStatement,
        values: impl SerializeRow,
    ) -> Result<QueryResult, ExecutionError> {
        let _place = self.place().await;
        self.session.execute_unpaged(statement, values).await
    }

    async fn execute_batch(&self, batch: Batch) -> Result<QueryResult, ExecutionError> {
        let _place = self.place().await;
        self.session.batch(&batch.statements, batch.values).await
    }

    /// Waits here for a free place. In the queue of a Cassandra node, a request that waits too long fails, and
    /// is executed nevertheless.
    async fn place(&self) -> SemaphorePermit<'_> {
        let place = self.places.acquire().await.expect("the places are never closed");
        self.requests.fetch_add(1, Ordering::Relaxed);
        place
    }

    pub(crate) async fn prepare_read(&self, text: &str) -> Result<Read, PrepareError> {
        self.prepare(text, &self.profiles.read, true).await.map(Read)
    }

    pub(crate) async fn prepare_serial_read(&self, text: &str) -> Result<SerialRead, PrepareError> {
        self.prepare(text, &self.profiles.serial_read, true).await.map(SerialRead)
    }

    pub(crate) async fn prepare_write(&self, text: &str) -> Result<Write, PrepareError> {
        self.prepare(text, &self.profiles.write, true).await.map(Write)
    }

    pub(crate) async fn prepare_conditional(&self, text: &str) -> Result<Conditional, PrepareError> {
        self.prepare(text, &self.profiles.conditional, false).await.map(Conditional)
    }

    async fn prepare(
        &self,
        text: &str,
        profile: &ExecutionProfile,
        idempotent: bool,
    ) -> Result<PreparedStatement, PrepareError> {
        let mut statement = self.session.prepare(text).await?;
        statement.set_execution_profile_handle(Some(profile.clone().into_handle()));
        statement.set_is_idempotent(idempotent);
        Ok(statement)
    }

    /// Reads all rows, for queries with a bounded result.
    pub(crate) async fn rows<R>(
        &self,
        operation: &'static str,
        statement: &Read,
        values: impl SerializeRow,
    ) -> Result<Vec<R>, StoreError>
    where
        R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata>,
    {
        let result = self.execute(&statement.0, values).await;
        let rows = decode(operation, result.map_err(|error| unavailable(operation, error))?)?;
        #[cfg(test)]
        self.rows_read.count(operation, rows.len());
        Ok(rows)
    }

    pub(crate) async fn row<R>(
        &self,
        operation: &'static str,
        statement: &Read,
        values: impl SerializeRow,
    ) -> Result<Option<R>, StoreError>
    where
        R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata>,
    {
        Ok(self.rows(operation, statement, values).await?.into_iter().next())
    }

    /// Tries several times, because concurrent writes to the partition can keep a serial read from being
    /// answered.
    pub(crate) async fn serial_row<R>(
        &self,
        operation: &'static str,
        statement: &SerialRead,
        values: impl SerializeRow,
    ) -> Result<Option<R>, StoreError>
    where
        R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata>,
    {
        let mut attempts_left = SERIAL_READ_ATTEMPTS_MAX;
        loop {
            attempts_left -= 1;
            match self.execute(&statement.0, &values).await {
                Ok(result) => return Ok(decode::<R>(operation, result)?.into_iter().next()),
                Err(error) if attempts_left == 0 => return Err(unavailable(operation, error)),
                Err(error) => tracing::debug!(operation, %error, "a serial read was not answered"),
            }
            sleep(SERIAL_READ_PAUSE_MAX.mul_f64(rand::random())).await;
        }
    }

    pub(crate) async fn write(
        &self,
        operation: &'static str,
        statement: &Write,
        values: impl SerializeRow,
    ) -> Result<(), StoreError> {
        let result = self.execute(&statement.0, values).await;
        result.map(drop).map_err(|error| unavailable(operation, error))
    }

    pub(crate) async fn write_batch(
        &self,
        operation: &'static str,
        mut batch: Batch,
    ) -> Result<(), StoreError> {
        batch.statements.set_is_idempotent(true);
        batch.statements.set_execution_profile_handle(Some(self.profiles.write.clone().into_handle()));
        let result = self.execute_batch(batch).await;
        result.map(drop).map_err(|error| unavailable(operation, error))
    }

    pub(crate) async fn conditional(
        &self,
        operation: &'static str,
        statement: &Conditional,
        values: impl SerializeRow,
    ) -> Outcome {
        let result = self.execute(&statement.0, values).await;
        outcome(operation, result)
    }

    /// Conditional statements about one partition, and writes in the same batch: all or none of them are
    /// applied.
    pub(crate) async fn conditional_batch(&self, operation: &'static str, mut batch: Batch) -> Outcome {
        batch.statements.set_is_idempotent(false);
        batch.statements.set_execution_profile_handle(Some(self.profiles.conditional.clone().into_handle()));
        let result = self.execute_batch(batch).await;
        outcome(operation, result)
    }
}

impl Profiles {
    fn new(options: &Options) -> Self {
        let routing = routing(options);
        let profile = |consistency: Consistency| -> ExecutionProfileBuilder {
            ExecutionProfile::builder()
                .consistency(consistency)
                .serial_consistency(Some(options.consistency.serial))
                .request_timeout(Some(options.request_timeout))
                .load_balancing_policy(routing.clone())
        };
        let serial = match options.consistency.serial {
            scylla::statement::SerialConsistency::Serial => Consistency::Serial,
            scylla::statement::SerialConsistency::LocalSerial => Consistency::LocalSerial,
        };
        let repeated = || Arc::new(DefaultRetryPolicy::new());
        Self {
            read: profile(options.consistency.read)
                .retry_policy(repeated())
                .speculative_execution_policy(Some(speculation(options.speculative_after)))
                .build(),
            serial_read: profile(serial).retry_policy(repeated()).build(),
            write: profile(options.consistency.write).retry_policy(repeated()).build(),
            conditional: profile(options.consistency.write)
                .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
                .build(),
        }
    }
}

fn routing(options: &Options) -> Arc<dyn LoadBalancingPolicy> {
    let policy = DefaultPolicy::builder().token_aware(true);
    match &options.datacenter {
        Some(datacenter) => policy.prefer_datacenter(datacenter.clone()).build(),
        None => policy.build(),
    }
}

fn speculation(after: Duration) -> Arc<SimpleSpeculativeExecutionPolicy> {
    Arc::new(SimpleSpeculativeExecutionPolicy {
        max_retry_count: SPECULATIVE_READS_MAX,
        retry_interval: after,
    })
}

fn decode<R>(operation: &'static str, result: QueryResult) -> Result<Vec<R>, StoreError>
where
    R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata>,
{
    let rows = result.into_rows_result().map_err(|error| unavailable(operation, error))?;
    let rows = rows.rows::<R>().map_err(|error| unavailable(operation, error))?;
    rows.collect::<Result<_, _>>().map_err(|error| unavailable(operation, error))
}

fn outcome(operation: &'static str, result: Result<QueryResult, ExecutionError>) -> Outcome {
    let applied =
        result.map_err(|error| unavailable(operation, error)).and_then(|result| applied(operation, result));
    match applied {
        Ok(true) => Outcome::Applied,
        Ok(false) => Outcome::NotApplied,
        Err(error) => Outcome::Unknown(error),
    }
}

/// The first column of the result says whether the condition held; the others depend on the condition.
fn applied(operation: &'static str, result: QueryResult) -> Result<bool, StoreError> {
    let rows: Vec<Row> = decode(operation, result)?;
    let first = rows.first().and_then(|row| row.columns.first().cloned().flatten());
    first
        .and_then(|value| value.as_boolean())
        .ok_or_else(|| unavailable(operation, "the answer has no [applied]"))
}

pub(crate) fn unavailable(
    operation: &'static str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreError {
    StoreError::Unavailable { operation, source: source.into() }
}
