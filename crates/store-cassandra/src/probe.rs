//! The health of Cassandra. A background task reads the transfer state every two seconds, so a health check
//! need not send a query.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use godwit_domain::ports::StoreError;
use tokio::time::{MissedTickBehavior, interval};

use crate::cql::unavailable;
use crate::transfer::Gate;

const PROBE_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(crate) struct Probe {
    /// The error of the last probe.
    trouble: Mutex<Option<Arc<str>>>,
}

impl Probe {
    pub(crate) async fn run(&self, gate: &Gate) {
        let mut ticks = interval(PROBE_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let trouble = gate.look().await.err().map(|error| {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                Arc::from(source.unwrap_or_else(|| error.to_string()))
            });
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
        }
    }

    pub(crate) fn health(&self) -> Result<(), StoreError> {
        match &*self.trouble.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(reason) => Err(unavailable("check whether Cassandra answers", &**reason)),
        }
    }
}
