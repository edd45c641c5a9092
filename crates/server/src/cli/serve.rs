//! `godwit serve`.

use std::io::{self, Write, stdout};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::config::refuse_problems;
use crate::config::{Config, ListenAddress, Registration, StoreLocation, check};
use crate::metrics_listener;
use crate::observe;
use crate::serve::{Ended, Server};

/// The exit code after SIGINT, by shell convention: 128 + SIGINT.
const EXIT_AT_ONCE: i32 = 130;
/// How long work on other threads, such as a password hash, may continue after everything else has ended.
const THREADS_STOP_MAX: Duration = Duration::from_secs(2);

pub(super) fn run(config: Config) -> anyhow::Result<()> {
    refuse_problems(&config)?;
    observe::start_log(&config.log);
    for warning in check::warnings(&config) {
        tracing::warn!("{warning}");
    }
    let runtime = Builder::new_multi_thread().enable_all().build().context("cannot start the runtime")?;
    let outcome = runtime.block_on(serve(config));
    // Drops the connections that were cut off, and with them the last handles of the store.
    runtime.shutdown_timeout(THREADS_STOP_MAX);
    outcome
}

async fn serve(mut config: Config) -> anyhow::Result<()> {
    let metrics = observe::start_metrics().context("cannot start the metrics")?;
    loop {
        let (addresses, ended) = Box::pin(serve_once(config.clone(), metrics.clone())).await?;
        match ended {
            Ended::Asked => return Ok(()),
            Ended::Transferred(to) => {
                tracing::info!(%to, "transferred the data; the server continues on the new store");
                config.store.url = Some(to);
                // Clients reconnect to the same address.
                config.server.listen = ListenAddress::new(addresses.clients);
                config.metrics.listen = addresses.metrics.map(ListenAddress::new);
            }
        }
    }
}

/// The addresses of a running server.
#[derive(Debug, Clone, Copy)]
struct Addresses {
    clients: SocketAddr,
    metrics: Option<SocketAddr>,
}

async fn serve_once(config: Config, metrics: PrometheusHandle) -> anyhow::Result<(Addresses, Ended)> {
    let welcome = Welcome {
        folder: std::path::absolute(config.data_folder())?,
        cluster: match config.store_location() {
            StoreLocation::Cassandra(url) => Some(url.to_string()),
            StoreLocation::Embedded(_) => None,
        },
        can_register: config.auth.passwords_enabled && config.auth.registration == Registration::Open,
    };
    let server = Server::start(config, metrics).await?;
    let is_empty = server.core().app.accounts.list(None, 1).await?.is_empty();
    let signals = Signals::new().context("cannot listen for signals")?;
    // A server with a closed stdout still serves.
    let addresses = Addresses { clients: server.address(), metrics: server.metrics_address() };
    let _ = welcome.print(addresses, is_empty);
    Ok((addresses, server.run(signals.first()).await?))
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the first signal. After that, a second one ends the process at once.
    async fn first(mut self) {
        let name = self.next().await;
        tracing::info!(signal = name, "stopping; a second signal stops at once");
        tokio::spawn(async move {
            self.next().await;
            tracing::warn!("stopped at once");
            std::process::exit(EXIT_AT_ONCE);
        });
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// The information that a new operator needs.
struct Welcome {
    folder: std::path::PathBuf,
    /// The Cassandra cluster, if the data is not in the folder.
    cluster: Option<String>,
    can_register: bool,
}

impl Welcome {
    fn print(&self, Addresses { clients: address, metrics }: Addresses, is_empty: bool) -> io::Result<()> {
        let mut out = stdout().lock();
        writeln!(out, "godwit {}", env!("CARGO_PKG_VERSION"))?;
        // Programs look for these lines. The metrics line comes first, so that it is there once the second line is.
        if let Some(metrics) = metrics {
            writeln!(out, "metrics at http://{metrics}{}", metrics_listener::PATH)?;
        }
        writeln!(out, "listening on http://{address}")?;
        match &self.cluster {
            None => writeln!(out, "data in {}", self.folder.display())?,
            Some(cluster) => writeln!(out, "data in {cluster}, admin socket in {}", self.folder.display())?,
        }
        writeln!(out, "documentation at http://{address}/docs")?;
        if is_empty {
            self.print_first_user(&mut out, address)?;
        }
        out.flush()
    }

    fn print_first_user(&self, out: &mut impl Write, address: SocketAddr) -> io::Result<()> {
        // As it was invoked, so that the command works for a program that is not installed.
        let program = std::env::args_os().next().unwrap_or_else(|| "godwit".into());
        let program = quoted(Path::new(&program));
        let mut place = format!("--data {}", quoted(&self.folder));
        if let Some(cluster) = &self.cluster {
            place = format!("{place} --store {}", quoted(Path::new(cluster)));
        }
        writeln!(out, "\nThere are no users yet. Add the first one in another terminal:\n")?;
        writeln!(out, "  {program} user add ada {place}")?;
        if self.can_register {
            writeln!(out, "\nor through the API:\n")?;
            writeln!(
                out,
                "  curl http://{address}/v1/accounts --header 'content-type: application/json' \\"
            )?;
            writeln!(out, "    --data '{{\"handle\": \"ada\", \"password\": \"choose a strong one\"}}'")?;
        }
        writeln!(out, "\nor stop the server and add sample people and conversations:\n")?;
        writeln!(out, "  {program} demo {place}")?;
        writeln!(out)
    }
}

/// A path quoted for a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:,".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
