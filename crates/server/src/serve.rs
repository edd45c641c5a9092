//! The life of a server: start, run, graceful stop.
//!
//! A stop never loses an acknowledged message, even a crash; a graceful stop is only smoother for clients. The server stops
//! accepting and tells sockets to reconnect, finishes requests in flight, writes unsaved data, and closes the store last, so
//! that the next start has nothing to repair.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use godwit_domain::ports::StoreError;
use metrics_exporter_prometheus::PrometheusHandle;
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::admin::Operated;
use crate::admin::server::AdminServer;
use crate::config::{Config, ListenAddress, StoreLocation};
use crate::data_folder::make_private;
use crate::listener::{Listener, OpenConnections};
use crate::metrics_listener::MetricsListener;
use crate::problem::chain;
use crate::router::router;
use crate::transfers::Transfers;
use crate::wiring::{Core, CoreError, Role};

/// Sockets reconnect at random times within this period, so that they do not all come at once.
const RECONNECT_SPREAD: Duration = Duration::from_secs(5);
/// The interval at which the server repeats the request to reconnect, for sockets that were still opening.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(200);
/// How long requests may continue after the store has failed: none of them can succeed.
const FAILED_STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// A server that has opened its port and its store, and does not accept yet.
#[derive(Debug)]
pub struct Server {
    core: Core,
    listener: Listener,
    metrics_listener: Option<MetricsListener>,
    admin: AdminServer,
    metrics: PrometheusHandle,
    config: Config,
}

#[derive(Debug, Error)]
pub enum StartError {
    #[error(transparent)]
    Core(#[from] CoreError),
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Listen { address: ListenAddress, source: io::Error },
    #[error("metrics.listen: cannot listen on {address}: {source}")]
    Metrics { address: ListenAddress, source: io::Error },
    #[error("cannot create the admin socket in {}: {source}", folder.display())]
    Admin { folder: PathBuf, source: io::Error },
}

/// Why a server stopped in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Asked,
    /// The data was transferred to this store.
    Transferred(StoreLocation),
}

/// Why a server stopped without being asked to.
#[derive(Debug, Error)]
pub enum Failure {
    #[error("the store has failed and accepts no more writes; check the disk, then restart")]
    Store(#[source] StoreError),
    #[error("the data was transferred to {0}: start the server with --store {0}")]
    Gone(String),
    #[error("a background task ended unexpectedly, which is a bug; see the log")]
    Background,
}

impl Server {
    pub async fn start(config: Config, metrics: PrometheusHandle) -> Result<Self, StartError> {
        // The store comes first: if another process has it open, that error says more than a port that is in use.
        let core = Core::open(&config, Role::Server).await?;
        let address = config.server.listen;
        let listener =
            Listener::bind(&config.server).map_err(|source| StartError::Listen { address, source })?;
        let metrics_listener = listen_for_metrics(config.metrics.listen).await?;
        let folder = config.data_folder();
        make_private(folder).map_err(CoreError::from)?;
        let admin = AdminServer::bind(folder)
            .map_err(|source| StartError::Admin { folder: folder.to_owned(), source })?;
        Ok(Self { core, listener, metrics_listener, admin, metrics, config })
    }

    pub const fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// The address of the metrics, if they are served.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_listener.as_ref().map(MetricsListener::address)
    }

    pub const fn core(&self) -> &Core {
        &self.core
    }

    /// Serves until `asked` resolves, or until it cannot continue.
    pub async fn run(self, asked: impl Future<Output = ()>) -> Result<Ended, Failure> {
        let Self { core, listener, metrics_listener, admin, metrics, config } = self;
        let (stop, stopping) = watch::channel(false);
        let router = router(core.state(&config, stopping.clone()));
        let mut background = core.background(metrics.clone());
        if let Some(listener) = metrics_listener {
            background.spawn(listener.run(core.metrics_page(metrics)));
        }
        core.join(listener.address(), &mut background).await;
        let mut admin_task = JoinSet::new();
        let transfers = Arc::new(Transfers::new(core.transfer_store(), config.clone()));
        let operated = Operated {
            app: core.app.clone(),
            store: config.store_location().absolute(),
            transfers: Some(transfers.clone()),
        };
        admin_task.spawn(async move { admin.run(operated).await });
        let accepting = tokio::spawn(listener.run(router, stopping));

        let outcome = tokio::select! {
            () = asked => Ok(Ended::Asked),
            to = transfers.transferred() => Ok(Ended::Transferred(to)),
            error = core.store_failed() => match transfers.ends().await {
                Some(to) => Ok(Ended::Transferred(to)),
                None => Err(transfers.gone().await.map_or(Failure::Store(error), Failure::Gone)),
            },
            Some(_) = background.join_next() => Err(Failure::Background),
        };
        if let Err(failure) = &outcome {
            tracing::error!(error = %chain(failure), "the server cannot continue");
        }
        let began = Instant::now();
        let within = match outcome {
            Ok(_) => Duration::from_millis(config.server.stop_timeout_ms),
            Err(_) => FAILED_STOP_TIMEOUT,
        };

        if let Some(cluster) = &core.cluster {
            cluster.drain();
        }
        // Without receivers the listener is gone, and nobody needs to know.
        let _ = stop.send(true);
        admin_task.shutdown().await;
        if let Ok(open) = accepting.await {
            drain(&core, open, within).await;
        }
        if let Some(cluster) = &core.cluster {
            cluster.leave().await;
        }
        background.shutdown().await;
        if let Err(error) = core.close().await {
            tracing::error!(error = %chain(&error), "the store was not closed cleanly; the next start recovers it");
        }
        tracing::info!(took_ms = began.elapsed().as_millis() as u64, "stopped");
        outcome
    }
}

async fn listen_for_metrics(address: Option<ListenAddress>) -> Result<Option<MetricsListener>, StartError> {
    let Some(address) = address else { return Ok(None) };
    if !SocketAddr::from(address).ip().is_loopback() {
        tracing::info!(%address, "everyone who can reach metrics.listen can read the metrics");
    }
    let bound = MetricsListener::bind(address).await;
    bound.map(Some).map_err(|source| StartError::Metrics { address, source })
}

async fn drain(core: &Core, open: OpenConnections, within: Duration) {
    tracing::info!(connections = open.count(), "stopping");
    let tell_sockets = async {
        loop {
            core.hub.restart(RECONNECT_SPREAD);
            sleep(RECONNECT_INTERVAL).await;
        }
    };
    tokio::select! {
        left = open.drain(within) => if left > 0 {
            tracing::warn!(left, "closing connections that did not end in time");
        },
        () = tell_sockets => {}
    }
}
