//! Counts and traces of what queries read, for tests.

use std::collections::HashMap;
use std::ops::AddAssign;
use std::sync::Mutex;
use std::time::Duration;

use scylla::serialize::row::SerializeRow;
use tokio::time::sleep;
use uuid::Uuid;

use super::{Cql, Read};

const TRACE_LOOKS_MAX: usize = 100;
const TRACE_LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The number of rows read, by operation.
#[derive(Debug, Default)]
pub(crate) struct RowsRead(Mutex<HashMap<&'static str, usize>>);

impl RowsRead {
    pub(super) fn count(&self, operation: &'static str, rows: usize) {
        *self.0.lock().expect("nobody panics with it").entry(operation).or_default() += rows;
    }

    pub(crate) fn of(&self, operation: &str) -> usize {
        self.0.lock().expect("nobody panics with it").get(operation).copied().unwrap_or(0)
    }
}

/// The cost of a query on one Cassandra node, the one that read most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReadCost {
    pub(crate) tombstones: usize,
    pub(crate) live_rows: usize,
}

impl AddAssign for ReadCost {
    fn add_assign(&mut self, other: Self) {
        self.tombstones += other.tombstones;
        self.live_rows += other.live_rows;
    }
}

impl Cql {
    pub(crate) async fn cost(&self, statement: &Read, values: impl SerializeRow) -> ReadCost {
        let mut traced = statement.0.clone();
        traced.set_tracing(true);
        let result = self.session.execute_unpaged(&traced, values).await.expect("the query is answered");
        let trace = result.tracing_id().expect("it was traced");
        // Cassandra stores a trace with a delay.
        for _ in 0..TRACE_LOOKS_MAX {
            if let Some(cost) = self.traced_cost(&trace).await {
                return cost;
            }
            sleep(TRACE_LOOK_INTERVAL).await;
        }
        panic!("nobody says what was read");
    }

    async fn traced_cost(&self, trace: &Uuid) -> Option<ReadCost> {
        let trace = self.session.get_tracing_info(trace).await.ok()?;
        let mut costs = HashMap::<_, ReadCost>::new();
        for event in trace.events {
            if let Some(cost) = event.activity.as_deref().and_then(read_cost) {
                *costs.entry(event.source).or_default() += cost;
            }
        }
        costs.into_values().max()
    }
}

/// `Read 50 live rows and 3 tombstone cells`
fn read_cost(activity: &str) -> Option<ReadCost> {
    let (live_rows, rest) = activity.strip_prefix("Read ")?.split_once(" live rows and ")?;
    let (tombstones, _) = rest.split_once(" tombstone")?;
    Some(ReadCost { live_rows: live_rows.parse().ok()?, tombstones: tombstones.parse().ok()? })
}
