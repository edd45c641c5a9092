//! Checks the clock of this machine.
//!
//! Order and ids are correct with any clock. But people see the times of messages, and `sync` looks back only for a
//! limited time. So a server refuses to start if its clock differs too much from Cassandra's.

use std::sync::Arc;

use godwit_domain::ports::{Clock, StoreError};
use godwit_protocol::Timestamp;
use scylla::value::CqlTimestamp;
use thiserror::Error;

use crate::cql::{Cql, unavailable};

/// A larger difference is logged.
const CLOCK_SKEW_MS_USUAL: i64 = 2_000;

#[derive(Debug, Error)]
pub enum ClockError {
    #[error("this machine's clock is {} s {} the cluster's: correct one of them", .skew_ms.abs() / 1_000, direction(*.skew_ms))]
    Skewed { skew_ms: i64 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Refuses a difference above `max_ms` in either direction.
pub(crate) async fn check(cql: &Cql, clock: &Arc<dyn Clock>, max_ms: i64) -> Result<(), ClockError> {
    let asked_at = clock.now();
    let theirs = cluster_time(cql).await?;
    let answered_at = clock.now();
    // Cassandra's time was taken at some moment between the two.
    let skew_ms = if asked_at > theirs {
        asked_at.millis_since(theirs)
    } else {
        answered_at.millis_since(theirs).min(0)
    };
    if skew_ms.abs() > max_ms {
        return Err(ClockError::Skewed { skew_ms });
    }
    if skew_ms.abs() > CLOCK_SKEW_MS_USUAL {
        tracing::warn!(skew_ms, "this machine's clock differs from the cluster's");
    }
    Ok(())
}

async fn cluster_time(cql: &Cql) -> Result<Timestamp, StoreError> {
    let operation = "ask for the time";
    let answer = cql.session().query_unpaged("SELECT toTimestamp(now()) FROM system.local", ()).await;
    let rows = answer.map_err(|error| unavailable(operation, error))?.into_rows_result();
    let rows = rows.map_err(|error| unavailable(operation, error))?;
    let (CqlTimestamp(ms),) = rows.single_row().map_err(|error| unavailable(operation, error))?;
    Ok(Timestamp::from_millis(ms))
}

const fn direction(skew_ms: i64) -> &'static str {
    if skew_ms > 0 { "ahead of" } else { "behind" }
}
