//! What the server is made of. This is the one file that names concrete stores.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use godwit_cluster::Cluster;
use godwit_delivery::{Hub, HubConfig};
use godwit_domain::accounts::AccountPolicy;
use godwit_domain::ports::{Clock, Delivery, Moving, NoPeers, Peers, Store, StoreError, TransferStore};
use godwit_domain::{App, Parts};
use godwit_store_cassandra::options::{
    Consistency, ConsistencyOptions, Credentials, Replication, SerialConsistency, TlsOptions,
};
use godwit_store_cassandra::{CassandraStore, ServerName};
use godwit_store_embedded::EmbeddedStore;
use metrics::{counter, describe_counter, describe_gauge, gauge};
use metrics_exporter_prometheus::PrometheusHandle;
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::admission::Admission;
use crate::auth::{ApplicationTokens, Argon2Hasher, Codec, InvalidPasswordConfig, KeyError, SigningKey};
use crate::clock::SystemClock;
use crate::config::{
    CassandraConfig, ClusterUrl, Config, Copies, EmbeddedConfig, Level, Registration, SerialLevel,
    SocketConfig, StoreLocation,
};
use crate::data_folder::{ReadableByOthers, make_private};
use crate::metrics_listener::Page;
use crate::observe;
use crate::opaque::Sealer;
use crate::rate::RateLimits;
use crate::sign_ins::SignIns;
use crate::state::{ServerState, Shared};

/// What such a store is opened with.
pub use godwit_store_cassandra::Options as StoreOptions;
/// The tables of a store that has any.
pub use godwit_store_cassandra::schema;

/// How often gauges are brought up to date.
const METRICS_INTERVAL: Duration = Duration::from_secs(5);
/// How often the store is asked whether it still takes writes.
const HEALTH_INTERVAL: Duration = Duration::from_millis(500);

/// In the data folder of a server on a store that servers share.
const SERVER_NAME_FILE: &str = "server";

const MIB: u64 = 1024 * 1024;

/// The use cases on an open store. Enough for the operator's commands; a server adds [`Core::state`] and
/// [`Core::background`].
#[derive(Debug)]
pub struct Core {
    pub app: App,
    pub hub: Arc<Hub>,
    /// The other servers on the store, if there can be any.
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
    #[error("the signing key could not be read")]
    SigningKey(#[source] StoreError),
    #[error("the data folder {} cannot be used: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("cluster.redis_tls: {0}")]
    RedisTls(String),
    #[error(transparent)]
    Readable(#[from] ReadableByOthers),
    #[error(transparent)]
    Cluster(#[from] godwit_cluster::StartError),
    #[error("it is not known whether the data is complete")]
    Unknown(#[source] StoreError),
    #[error("the data was moved to {0}: start with --store {0}")]
    Gone(String),
    #[error("the data is being moved here from {0} and is not complete: `godwit move` goes on with it")]
    Incomplete(String),
}

impl From<godwit_store_cassandra::OpenError> for CoreError {
    fn from(error: godwit_store_cassandra::OpenError) -> Self {
        Self::Cassandra(Box::new(error))
    }
}

/// What a process wants with the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Server,
    /// Does something for the operator, and goes.
    Operator,
}

impl CoreError {
    /// Whether another process has the store open.
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Embedded(godwit_store_embedded::OpenError::Locked { .. }))
    }
}

/// A store that has to be closed as what it is.
#[derive(Debug, Clone)]
enum OpenStore {
    Embedded(Arc<EmbeddedStore>),
    Cassandra(Arc<CassandraStore>),
}

impl Core {
    pub async fn open(config: &Config, role: Role) -> Result<Self, CoreError> {
        Self::open_at(config, role, Arc::new(SystemClock)).await
    }

    /// With another clock than that of this machine.
    pub async fn open_at(config: &Config, role: Role, clock: Arc<dyn Clock>) -> Result<Self, CoreError> {
        let hasher = Argon2Hasher::new(&config.auth.passwords)?;
        let application = ApplicationTokens::load(&config.auth.application)?;
        let store = OpenStore::open(config, &clock, role).await?;
        store.refuse_what_was_moved().await?;
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

    /// Joins the other servers on the store, if there can be any. `serves` is where clients connect.
    pub async fn join(&self, serves: SocketAddr, tasks: &mut JoinSet<()>) {
        if let Some(cluster) = &self.cluster {
            godwit_cluster::describe_metrics();
            cluster.join(serves, tasks).await;
            tracing::info!(node = %cluster.id(), internal = %cluster.internal_address(), "one of several servers");
        }
    }

    /// The same for one that serves nobody: the others are told what it does, and give it nothing to do.
    pub async fn join_to_tell(&self, tasks: &mut JoinSet<()>) {
        if let Some(cluster) = &self.cluster {
            cluster.drain();
            cluster.join(cluster.internal_address(), tasks).await;
        }
    }

    /// What the handlers share.
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

    /// Starts what runs beside the requests. None of it ends by itself; all of it ends when the set is dropped.
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

    /// What Prometheus reads.
    pub fn metrics_page(&self, metrics: PrometheusHandle) -> Page {
        let store = self.store.port();
        Page::new(move || {
            gauge!("godwit_ready").set(if store.health().is_ok() { 1.0 } else { 0.0 });
            metrics.render()
        })
    }

    /// Waits until the store will never take a write again. One that only cannot be reached is waited for.
    pub async fn store_failed(&self) -> StoreError {
        let mut ticks = interval(HEALTH_INTERVAL);
        loop {
            ticks.tick().await;
            if let Err(error @ StoreError::Stopped) = self.store.port().health() {
                return error;
            }
        }
    }

    /// For whoever moves the data.
    pub fn movable_store(&self) -> MovableStore {
        MovableStore(self.store.clone())
    }

    /// Writes what is left and closes the store. Nothing may use the app after it.
    pub async fn close(self) -> Result<(), StoreError> {
        let flushed = self.app.cursors.flush().await;
        self.store.close().await.and(flushed)
    }
}

impl OpenStore {
    async fn open(config: &Config, clock: &Arc<dyn Clock>, role: Role) -> Result<Self, CoreError> {
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

    async fn signing_key(&self) -> Result<[u8; 32], CoreError> {
        self.port().signing_key(rand::random()).await.map_err(CoreError::SigningKey)
    }

    fn port(&self) -> Arc<dyn Store> {
        match self {
            Self::Embedded(store) => store.clone(),
            Self::Cassandra(store) => store.clone(),
        }
    }

    fn transfer_port(&self) -> Arc<dyn TransferStore> {
        match self {
            Self::Embedded(store) => store.clone(),
            Self::Cassandra(store) => store.clone(),
        }
    }

    /// Nobody is served from data that is not complete, or not here any more.
    async fn refuse_what_was_moved(&self) -> Result<(), CoreError> {
        let port = self.transfer_port();
        match port.moving().await.map_err(CoreError::Unknown)? {
            Moving::Not => {}
            Moving::Out { to } => {
                tracing::info!(to, "the data is being moved; `godwit move` goes on with it");
            }
            Moving::Held { to } => self.release(&*port, to).await?,
            Moving::Gone { to } => return Err(CoreError::Gone(to)),
            Moving::In { from, .. } => return Err(CoreError::Incomplete(from)),
        }
        Ok(())
    }

    /// Who held the writes has gone, if this process alone has the store open.
    async fn release(&self, port: &dyn TransferStore, to: String) -> Result<(), CoreError> {
        if let Self::Embedded(_) = self {
            let held = Moving::Held { to: to.clone() };
            port.set_moving(&held, Moving::Out { to }).await.map_err(CoreError::Unknown)?;
        }
        Ok(())
    }

    async fn close(&self) -> Result<(), StoreError> {
        match self {
            Self::Embedded(store) => store.close().await,
            Self::Cassandra(store) => store.close().await,
        }
    }

    fn describe_metrics(&self) {
        match self {
            Self::Embedded(_) => {
                godwit_store_embedded::describe_metrics();
                describe_gauge!("godwit_store_table_bytes", "Tables of the store on disk.");
                describe_gauge!("godwit_store_journal_files", "Files of the store's journal.");
                describe_gauge!(
                    "godwit_store_hot_conversations",
                    "Conversations whose inbox rows are behind."
                );
            }
            Self::Cassandra(_) => {
                describe_counter!("godwit_store_requests_total", "Requests to the cluster.");
            }
        }
    }

    fn refresh_metrics(&self) {
        match self {
            Self::Embedded(store) => {
                let stats = store.stats();
                gauge!("godwit_store_table_bytes").set(stats.table_bytes as f64);
                gauge!("godwit_store_journal_files").set(stats.journal_files as f64);
                gauge!("godwit_store_hot_conversations").set(stats.hot_conversations as f64);
            }
            Self::Cassandra(store) => counter!("godwit_store_requests_total").absolute(store.requests()),
        }
    }
}

/// A store that is moved from or into. Nothing is served from it.
#[derive(Debug, Clone)]
pub struct MovableStore(OpenStore);

impl MovableStore {
    pub fn port(&self) -> Arc<dyn TransferStore> {
        self.0.transfer_port()
    }

    pub async fn close(&self) -> Result<(), StoreError> {
        self.0.close().await
    }
}

/// Opens a store to move from it or into it, with the settings that a server on it would have.
pub async fn movable_store(config: &Config, at: &StoreLocation) -> Result<MovableStore, CoreError> {
    let mut config = config.clone();
    config.store.url = Some(at.clone());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    OpenStore::open(&config, &clock, Role::Operator).await.map(MovableStore)
}

/// With what to make the tables of the store; `None` when it has none.
pub fn schema_options(config: &Config) -> Option<StoreOptions> {
    match config.store_location() {
        StoreLocation::Embedded(_) => None,
        StoreLocation::Cassandra(url) => Some(cassandra_options(&url, &config.store.cassandra)),
    }
}

/// How this server is known to others on the store, the same after each restart.
fn server_name(config: &Config) -> Result<ServerName, CoreError> {
    let folder = config.data_folder();
    make_private(folder)?;
    let unusable = |source| CoreError::Folder { folder: folder.to_owned(), source };
    let path = folder.join(SERVER_NAME_FILE);
    let server = match std::fs::read_to_string(&path) {
        Ok(name) => name.trim().to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = format!("{:016x}", rand::random::<u64>());
            std::fs::write(&path, format!("{name}\n")).map_err(unusable)?;
            name
        }
        Err(error) => return Err(unusable(error)),
    };
    Ok(ServerName { server, host: host_name(), alone: config.cluster.redis_url.is_none() })
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn cluster_options(
    config: &Config,
    signing_key: [u8; 32],
) -> Result<Option<godwit_cluster::Options>, CoreError> {
    let cluster = &config.cluster;
    let Some(redis) = cluster.redis().map_err(CoreError::RedisTls)? else { return Ok(None) };
    Ok(Some(godwit_cluster::Options {
        redis,
        listen: cluster.listen.into(),
        advertise: cluster.advertise,
        secret: cluster.secret().to_owned(),
        signing_key,
        host: host_name(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }))
}

const fn hub_config(config: &SocketConfig) -> HubConfig {
    HubConfig {
        heartbeat_ms: config.heartbeat_ms,
        sign_in_within_ms: config.sign_in_within_ms,
        queue_frames_max: config.queue_frames_max,
        queue_bytes_max: config.queue_bytes_max,
        per_user_max: config.per_user_max,
        per_device_max: config.per_device_max,
    }
}

fn embedded_options(config: &EmbeddedConfig) -> godwit_store_embedded::Options {
    godwit_store_embedded::Options {
        cache_bytes: config.cache_mib * MIB,
        memtable_bytes_max: config.memtable_mib * MIB,
        journal_bytes_max: config.journal_mib * MIB,
        ..godwit_store_embedded::Options::default()
    }
}

fn cassandra_options(url: &ClusterUrl, config: &CassandraConfig) -> StoreOptions {
    let login = config.login(url);
    let client = config.tls.cert_file.clone().zip(config.tls.key_file.clone());
    let tls = config.tls.ca_file.clone().map(|ca_file| TlsOptions { ca_file, client });
    let options = StoreOptions::new(url.contact_points.clone(), url.keyspace.as_str());
    StoreOptions {
        datacenter: config.datacenter.clone(),
        replication: match &config.replication {
            None => Replication::Default,
            Some(Copies::Each(copies)) => Replication::Each(*copies),
            Some(Copies::In(copies)) => Replication::PerDatacenter(copies.clone()),
        },
        consistency: ConsistencyOptions {
            read: consistency(config.consistency.read),
            write: consistency(config.consistency.write),
            serial: match config.consistency.serial {
                SerialLevel::Serial => SerialConsistency::Serial,
                SerialLevel::LocalSerial => SerialConsistency::LocalSerial,
            },
        },
        credentials: login.map(|login| Credentials {
            username: login.username,
            password: login.password.reveal().to_owned(),
        }),
        tls,
        migrate: config.migrate_at_start,
        connect_timeout: Duration::from_millis(config.connect_timeout_ms),
        silence_max: Duration::from_millis(config.silence_max_ms),
        request_timeout: Duration::from_millis(config.request_timeout_ms),
        speculative_after: Duration::from_millis(config.speculative_after_ms),
        requests_at_once_max: config.requests_at_once_max,
        ..options
    }
}

const fn consistency(level: Level) -> Consistency {
    match level {
        Level::Any => Consistency::Any,
        Level::One => Consistency::One,
        Level::Two => Consistency::Two,
        Level::Three => Consistency::Three,
        Level::LocalOne => Consistency::LocalOne,
        Level::Quorum => Consistency::Quorum,
        Level::LocalQuorum => Consistency::LocalQuorum,
        Level::EachQuorum => Consistency::EachQuorum,
        Level::All => Consistency::All,
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
