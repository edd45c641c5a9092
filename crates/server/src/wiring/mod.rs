//! The parts of the server and their wiring.
//!
//! - [`Core`]: the use cases on an open store, with the background tasks
//! - [`store`]: the store of either kind
//! - [`options`]: the settings of each part, derived from the config
//!
//! Only this folder names concrete stores.

mod options;
mod store;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use godwit_cluster::Cluster;
use godwit_delivery::Hub;
use godwit_domain::accounts::AccountPolicy;
use godwit_domain::ports::{Clock, Delivery, NoPeers, Peers, StoreError};
use godwit_domain::{App, Parts};
/// The options of a store that servers share.
pub use godwit_store_cassandra::Options as StoreOptions;
/// The tables of a store that has a schema.
pub use godwit_store_cassandra::schema;
use metrics::gauge;
use metrics_exporter_prometheus::PrometheusHandle;
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

pub use self::options::schema_options;
use self::options::{cluster_options, hub_config};
use self::store::OpenStore;
pub use self::store::{OpenTransferStore, transfer_store};
use crate::admission::Admission;
use crate::auth::{ApplicationTokens, Argon2Hasher, Codec, InvalidPasswordConfig, KeyError, SigningKey};
use crate::clock::SystemClock;
use crate::config::{Config, Registration};
use crate::data_folder::ReadableByOthers;
use crate::metrics_listener::Page;
use crate::observe;
use crate::opaque::Sealer;
use crate::rate::RateLimits;
use crate::sign_ins::SignIns;
use crate::state::{ServerState, Shared};

/// How often gauges are updated.
const METRICS_INTERVAL: Duration = Duration::from_secs(5);
/// How often the store is checked for writability.
const HEALTH_INTERVAL: Duration = Duration::from_millis(500);

/// The use cases on an open store. Enough for the operator's commands; a server adds [`Core::state`] and
/// [`Core::background`].
#[derive(Debug)]
pub struct Core {
    pub app: App,
    pub hub: Arc<Hub>,
    /// The other servers on the store. `None` for a store that allows only one.
    pub cluster: Option<Arc<Cluster>>,
    clock: Arc<dyn Clock>,
    store: OpenStore,
    signing_key: SigningKey,
}

#[derive(Debug, Error)]
pub enum CoreError {
    #[error(transparent)]
    Embedded(#[from] godwit_store_embedded::OpenError),
    #[error(transparent)]
    Cassandra(Box<godwit_store_cassandra::OpenError>),
    #[error("auth.application: {0}")]
    Keys(#[from] KeyError),
    #[error("auth.passwords: {0}")]
    Passwords(#[from] InvalidPasswordConfig),
    #[error("cannot read the signing key")]
    SigningKey(#[source] StoreError),
    #[error("cannot use the data folder {}: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("cluster.redis_tls: {0}")]
    RedisTls(String),
    #[error(transparent)]
    Readable(#[from] ReadableByOthers),
    #[error(transparent)]
    Cluster(#[from] godwit_cluster::StartError),
    #[error("cannot determine whether the data is complete")]
    Unknown(#[source] StoreError),
    #[error("the data was transferred to {0}: start the server with --store {0}")]
    Gone(String),
    #[error("a transfer from {0} to this store is not complete: resume it with `godwit transfer`")]
    Incomplete(String),
}

impl From<godwit_store_cassandra::OpenError> for CoreError {
    fn from(error: godwit_store_cassandra::OpenError) -> Self {
        Self::Cassandra(Box::new(error))
    }
}

/// Why a process opens the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Server,
    /// Runs one command of the operator and ends.
    Operator,
}

impl CoreError {
    /// True if another process has the store open.
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Embedded(godwit_store_embedded::OpenError::Locked { .. }))
    }
}

impl Core {
    pub async fn open(config: &Config, role: Role) -> Result<Self, CoreError> {
        Self::open_at(config, role, Arc::new(SystemClock)).await
    }

    /// Opens with another clock than the system clock.
    pub async fn open_at(config: &Config, role: Role, clock: Arc<dyn Clock>) -> Result<Self, CoreError> {
        let hasher = Argon2Hasher::new(&config.auth.passwords)?;
        let application = ApplicationTokens::load(&config.auth.application)?;
        let store = OpenStore::open(config, &clock, role).await?;
        store.refuse_after_transfer().await?;
        let signing_key = store.signing_key().await?;
        let hub = Arc::new(Hub::new(hub_config(&config.socket), clock.clone()));
        let cluster = match cluster_options(config, signing_key)? {
            Some(options) => Some(Cluster::bind(options, hub.clone(), &*clock).await?),
            None => None,
        };
        let signing_key = SigningKey::new(signing_key);
        let (delivery, peers): (Arc<dyn Delivery>, Arc<dyn Peers>) = match &cluster {
            Some(cluster) => (cluster.clone(), cluster.clone()),
            None => (hub.clone(), Arc::new(NoPeers)),
        };
        let app = App::new(Parts {
            store: store.port(),
            delivery,
            peers,
            clock: clock.clone(),
            tokens: Arc::new(Codec::new(signing_key, application)),
            hasher: Arc::new(hasher),
            lifetimes: config.auth.tokens.lifetimes(),
            policy: AccountPolicy {
                registration_open: config.auth.registration == Registration::Open,
                passwords_enabled: config.auth.passwords_enabled,
                reserved_handles: config.auth.reserved_handles.clone(),
            },
            messages: config.messages.policy(),
            adding: config.groups.policy(),
        });
        if let Some(cluster) = &cluster {
            cluster.attach(app.from_peers.clone());
        }
        Ok(Self { app, hub, cluster, clock, store, signing_key })
    }

    /// The key of the installation.
    pub async fn signing_key(config: &Config) -> Result<[u8; 32], CoreError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store = OpenStore::open(config, &clock, Role::Operator).await?;
        let key = store.signing_key().await?;
        store.close().await.map_err(CoreError::SigningKey)?;
        Ok(key)
    }

    /// Joins the other servers on the store, if it allows several. `serves` is the address for clients.
    pub async fn join(&self, serves: SocketAddr, tasks: &mut JoinSet<()>) {
        if let Some(cluster) = &self.cluster {
            godwit_cluster::describe_metrics();
            cluster.join(serves, tasks).await;
            tracing::info!(node = %cluster.id(), internal = %cluster.internal_address(), "running as one of several servers");
        }
    }

    /// Joins as a process without clients: it tells the others about its changes and gets no requests from them.
    pub async fn join_to_tell(&self, tasks: &mut JoinSet<()>) {
        if let Some(cluster) = &self.cluster {
            cluster.drain();
            cluster.join(cluster.internal_address(), tasks).await;
        }
    }

    /// The state that the handlers share.
    pub fn state(&self, config: &Config, stopping: watch::Receiver<bool>) -> ServerState {
        Arc::new(Shared {
            app: self.app.clone(),
            hub: self.hub.clone(),
            clock: self.clock.clone(),
            store: self.store.port(),
            rates: RateLimits::new(&config.rates),
            admission: Admission::new(&config.admission, config.auth.passwords.at_once_max()),
            sign_ins: SignIns::new(self.signing_key),
            sealer: Sealer::new(self.signing_key),
            stopping,
        })
    }

    /// Starts the background tasks. None of them ends on its own; dropping the set ends all of them.
    pub fn background(&self, metrics: PrometheusHandle) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let (hub, cursors, store) = (self.hub.clone(), self.app.cursors.clone(), self.store.clone());
        tasks.spawn(async move { hub.run().await });
        tasks.spawn(async move { cursors.run().await });
        let sweeper = self.app.sweeper.clone();
        tasks.spawn(async move { sweeper.run().await });
        store.describe_metrics();
        tasks.spawn(every(METRICS_INTERVAL, move || {
            observe::refresh_metrics(&metrics);
            store.refresh_metrics();
        }));
        tasks
    }

    /// The metrics page for Prometheus.
    pub fn metrics_page(&self, metrics: PrometheusHandle) -> Page {
        let store = self.store.port();
        Page::new(move || {
            gauge!("godwit_ready").set(if store.health().is_ok() { 1.0 } else { 0.0 });
            metrics.render()
        })
    }

    /// Returns when the store will never accept a write again. An unreachable store does not count: it may recover.
    pub async fn store_failed(&self) -> StoreError {
        let mut ticks = interval(HEALTH_INTERVAL);
        loop {
            ticks.tick().await;
            if let Err(error @ StoreError::Stopped) = self.store.port().health() {
                return error;
            }
        }
    }

    /// The store, for a transfer.
    pub fn transfer_store(&self) -> OpenTransferStore {
        OpenTransferStore::of(&self.store)
    }

    /// Writes unsaved data and closes the store. The app must not be used afterwards.
    pub async fn close(self) -> Result<(), StoreError> {
        let flushed = self.app.cursors.flush().await;
        self.store.close().await.and(flushed)
    }
}

async fn every(period: Duration, mut act: impl FnMut()) {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        act();
    }
}
