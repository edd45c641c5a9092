//! The store of the server, of either kind.

use std::sync::Arc;

use godwit_domain::ports::{Clock, Store, StoreError, TransferState, TransferStore};
use godwit_store_cassandra::CassandraStore;
use godwit_store_embedded::EmbeddedStore;
use metrics::{counter, describe_counter, describe_gauge, gauge};

use super::options::{cassandra_options, embedded_options, server_name};
use super::{CoreError, Role, StoreOptions};
use crate::clock::SystemClock;
use crate::config::{Config, StoreLocation};
use crate::data_folder::make_private;

/// An open store.
#[derive(Debug, Clone)]
pub(super) enum OpenStore {
    Embedded(Arc<EmbeddedStore>),
    Cassandra(Arc<CassandraStore>),
}

impl OpenStore {
    pub(super) async fn open(config: &Config, clock: &Arc<dyn Clock>, role: Role) -> Result<Self, CoreError> {
        match config.store_location() {
            StoreLocation::Embedded(folder) => {
                make_private(&folder)?;
                let options = embedded_options(&config.store.embedded);
                Ok(Self::Embedded(Arc::new(EmbeddedStore::open(&folder, clock.clone(), options)?)))
            }
            StoreLocation::Cassandra(url) => {
                let server = match role {
                    Role::Server => Some(server_name(config)?),
                    Role::Operator => None,
                };
                let options = StoreOptions { server, ..cassandra_options(&url, &config.store.cassandra) };
                Ok(Self::Cassandra(Arc::new(CassandraStore::open(options, clock.clone()).await?)))
            }
        }
    }

    pub(super) async fn signing_key(&self) -> Result<[u8; 32], CoreError> {
        self.port().signing_key(rand::random()).await.map_err(CoreError::SigningKey)
    }

    pub(super) fn port(&self) -> Arc<dyn Store> {
        match self {
            Self::Embedded(store) => store.clone(),
            Self::Cassandra(store) => store.clone(),
        }
    }

    pub(super) fn transfer_port(&self) -> Arc<dyn TransferStore> {
        match self {
            Self::Embedded(store) => store.clone(),
            Self::Cassandra(store) => store.clone(),
        }
    }

    /// Refuses to serve data that is incomplete, or that was transferred.
    pub(super) async fn refuse_after_transfer(&self) -> Result<(), CoreError> {
        let port = self.transfer_port();
        match port.transfer_state().await.map_err(CoreError::Unknown)? {
            TransferState::Not => {}
            TransferState::Out { to } => {
                tracing::info!(to, "a transfer of the data is in progress; resume it with `godwit transfer`");
            }
            TransferState::Held { to } => self.release(&*port, to).await?,
            TransferState::Gone { to } => return Err(CoreError::Gone(to)),
            TransferState::In { from, .. } => return Err(CoreError::Incomplete(from)),
        }
        Ok(())
    }

    /// Releases held writes on the embedded store: only one process can have it open, so the process that held them has
    /// ended.
    async fn release(&self, port: &dyn TransferStore, to: String) -> Result<(), CoreError> {
        if let Self::Embedded(_) = self {
            let held = TransferState::Held { to: to.clone() };
            port.set_transfer_state(&held, TransferState::Out { to }).await.map_err(CoreError::Unknown)?;
        }
        Ok(())
    }

    pub(super) async fn close(&self) -> Result<(), StoreError> {
        match self {
            Self::Embedded(store) => store.close().await,
            Self::Cassandra(store) => store.close().await,
        }
    }

    pub(super) fn describe_metrics(&self) {
        match self {
            Self::Embedded(_) => {
                godwit_store_embedded::describe_metrics();
                describe_gauge!("godwit_store_table_bytes", "Size of the store's tables on disk.");
                describe_gauge!("godwit_store_journal_files", "Number of journal files.");
                describe_gauge!(
                    "godwit_store_disk_free_bytes",
                    "Free space of the disk, as of the last write."
                );
                describe_gauge!(
                    "godwit_store_hot_conversations",
                    "Hot conversations, whose inbox rows are not settled yet."
                );
            }
            Self::Cassandra(_) => {
                describe_counter!("godwit_store_requests_total", "Requests to the Cassandra cluster.");
            }
        }
    }

    pub(super) fn refresh_metrics(&self) {
        match self {
            Self::Embedded(store) => {
                let stats = store.stats();
                gauge!("godwit_store_table_bytes").set(stats.table_bytes as f64);
                gauge!("godwit_store_journal_files").set(stats.journal_files as f64);
                gauge!("godwit_store_hot_conversations").set(stats.hot_conversations as f64);
                gauge!("godwit_store_disk_free_bytes").set(stats.disk_free_bytes as f64);
            }
            Self::Cassandra(store) => counter!("godwit_store_requests_total").absolute(store.requests()),
        }
    }
}

/// The source or target of a transfer. No client is served from it.
#[derive(Debug, Clone)]
pub struct OpenTransferStore(OpenStore);

impl OpenTransferStore {
    pub(super) fn of(store: &OpenStore) -> Self {
        Self(store.clone())
    }

    pub fn port(&self) -> Arc<dyn TransferStore> {
        self.0.transfer_port()
    }

    pub async fn close(&self) -> Result<(), StoreError> {
        self.0.close().await
    }
}

/// Opens a store as the source or target of a transfer, with the settings that a server on it would have.
pub async fn transfer_store(config: &Config, at: &StoreLocation) -> Result<OpenTransferStore, CoreError> {
    let mut config = config.clone();
    config.store.url = Some(at.clone());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    OpenStore::open(&config, &clock, Role::Operator).await.map(OpenTransferStore)
}
