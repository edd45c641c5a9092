//! What there is one of, and whether the cluster can be read.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use godwit_domain::ports::StoreError;
use scylla::errors::PrepareError;
use tokio::time::{MissedTickBehavior, interval};

use crate::cql::{Conditional, Cql, Outcome, Read, SerialRead, unavailable};

const SIGNING_KEY: &str = "signing_key";
const PROBE_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Installation {
    cql: Arc<Cql>,
    offer: Conditional,
    value_serial: SerialRead,
    value: Read,
}

impl Installation {
    pub(crate) async fn new(cql: Arc<Cql>) -> Result<Self, PrepareError> {
        let select = "SELECT value FROM installation WHERE name = ?";
        Ok(Self {
            offer: cql
                .prepare_conditional("INSERT INTO installation (name, value) VALUES (?, ?) IF NOT EXISTS")
                .await?,
            value_serial: cql.prepare_serial_read(select).await?,
            value: cql.prepare_read(select).await?,
            cql,
        })
    }

    /// The first one offered.
    pub(crate) async fn signing_key(&self, offered: [u8; 32]) -> Result<[u8; 32], StoreError> {
        let operation = "agree on the signing key";
        let values = (SIGNING_KEY, offered.to_vec());
        let outcome = self.cql.conditional(operation, &self.offer, values).await;
        if let Outcome::Applied = outcome {
            return Ok(offered);
        }
        let row: Option<(Vec<u8>,)> =
            self.cql.serial_row(operation, &self.value_serial, (SIGNING_KEY,)).await?;
        let (key,) = row.ok_or_else(|| match outcome {
            Outcome::Unknown(error) => error,
            Outcome::Applied | Outcome::NotApplied => {
                unavailable(operation, "it was not found after it was refused")
            }
        })?;
        key.try_into().map_err(|_| StoreError::Corrupt {
            table: "installation",
            key: SIGNING_KEY.into(),
            reason: "it does not have 32 bytes".into(),
        })
    }

    async fn read(&self) -> Result<(), StoreError> {
        let row: Option<(Vec<u8>,)> =
            self.cql.row("look whether it answers", &self.value, (SIGNING_KEY,)).await?;
        drop(row);
        Ok(())
    }
}

/// Asks now and then, so that whoever wants to know need not.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    /// Why it did not answer the last time.
    trouble: Mutex<Option<Arc<str>>>,
}

impl Probe {
    pub(crate) async fn run(&self, installation: &Installation) {
        let mut ticks = interval(PROBE_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let trouble = installation.read().await.err().map(|error| {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                Arc::from(source.unwrap_or_else(|| error.to_string()))
            });
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
        }
    }

    pub(crate) fn health(&self) -> Result<(), StoreError> {
        match &*self.trouble.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(reason) => Err(unavailable("look whether it answers", &**reason)),
        }
    }
}
