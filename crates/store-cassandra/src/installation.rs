//! Values that the installation has only once.

use std::sync::Arc;

use godwit_domain::ports::StoreError;
use scylla::errors::PrepareError;

use crate::cql::{Conditional, Cql, Outcome, SerialRead, unavailable};

const SIGNING_KEY: &str = "signing_key";

#[derive(Debug)]
pub(crate) struct Installation {
    cql: Arc<Cql>,
    offer: Conditional,
    value_serial: SerialRead,
}

impl Installation {
    pub(crate) async fn new(cql: Arc<Cql>) -> Result<Self, PrepareError> {
        let select = "SELECT value FROM installation WHERE name = ?";
        Ok(Self {
            offer: cql
                .prepare_conditional("INSERT INTO installation (name, value) VALUES (?, ?) IF NOT EXISTS")
                .await?,
            value_serial: cql.prepare_serial_read(select).await?,
            cql,
        })
    }

    /// Returns the first key that was ever offered.
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
                unavailable(operation, "the key exists but cannot be read")
            }
        })?;
        key.try_into().map_err(|_| StoreError::Corrupt {
            table: "installation",
            key: SIGNING_KEY.into(),
            reason: "it does not have 32 bytes".into(),
        })
    }
}
