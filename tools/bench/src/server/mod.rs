//! The measured server: started for the run, or running already.
//!
//! - [`process`]: starts Godwit; [`peer`]: starts another messenger, which may be several processes
//! - [`running`]: stops the started processes in any case
//! - [`usage`]: the resource usage of server and generator
//! - [`metrics`]: the server's metrics
//! - [`machine`]: describes the machine

pub(crate) mod machine;
mod metrics;
pub(crate) mod peer;
pub(crate) mod process;
mod running;
pub(crate) mod usage;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;

use peer::PeerProcess;
use process::ServerProcess;

/// The default folder for the folder of a started server.
pub(crate) const DATA_DEFAULT: &str = "target";

/// Which server.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Which {
    /// The godwit binary to start [default: the one beside this program]
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    pub(crate) server: Option<PathBuf>,

    /// Folder for the server's temporary folder, which must be on a real disk [default: target]
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub(crate) data: Option<PathBuf>,

    /// A setting of the started server, such as socket.heartbeat_ms=5000; repeatable
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "url")]
    pub(crate) set: Vec<String>,

    /// Use a running server, such as http://127.0.0.1:8080. It must not have rate limits
    #[arg(long, value_name = "URL", requires = "key")]
    pub(crate) url: Option<String>,

    /// The auth.application.secret of the running server
    #[arg(long, value_name = "SECRET", requires = "url")]
    pub(crate) key: Option<String>,

    /// The metrics address of the running server, such as http://127.0.0.1:9464
    #[arg(long, value_name = "URL", requires = "url")]
    pub(crate) metrics_url: Option<String>,

    /// The process id of the running server, if it is on this machine, to measure its resource usage
    #[arg(long, value_name = "PID", requires = "url")]
    pub(crate) pid: Option<u32>,
}

/// A reachable server. A started one ends with this.
#[expect(clippy::large_enum_variant, reason = "there is one, or a few")]
#[derive(Debug)]
pub(crate) enum Server {
    Started(ServerProcess),
    Peer(PeerProcess),
    Running { address: SocketAddr, metrics: Option<SocketAddr>, key: String, pid: Option<u32> },
}

impl Which {
    /// Must be called on a runtime: watches for Ctrl-C.
    pub(crate) fn start(&self) -> anyhow::Result<Server> {
        if let (Some(url), Some(key)) = (&self.url, &self.key) {
            let metrics = self.metrics_url.as_deref().map(address_of).transpose()?;
            let address = address_of(url)?;
            return Ok(Server::Running { address, metrics, key: key.clone(), pid: self.pid });
        }
        let binary = match &self.server {
            Some(path) => path.clone(),
            None => std::env::current_exe()?.with_file_name("godwit"),
        };
        ensure!(binary.is_file(), "{} does not exist: build it, or use --server PATH", binary.display());
        let data = self.data.as_deref().unwrap_or(Path::new(DATA_DEFAULT));
        Ok(Server::Started(ServerProcess::start(&binary, data, &self.set)?))
    }
}

impl Server {
    pub(crate) const fn address(&self) -> SocketAddr {
        match self {
            Self::Started(process) => process.address(),
            Self::Peer(peer) => peer.address(),
            Self::Running { address, .. } => *address,
        }
    }

    /// The key that signs tokens.
    pub(crate) fn key(&self) -> &str {
        match self {
            Self::Started(_) | Self::Peer(_) => process::KEY,
            Self::Running { key, .. } => key,
        }
    }

    /// `None` if it is unknown.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::Started(process) => process.pid(),
            Self::Peer(peer) => peer.pid(),
            Self::Running { pid, .. } => *pid,
        }
    }

    /// The number of fsyncs; `None` if the server does not report it.
    pub(crate) fn fsyncs(&self) -> anyhow::Result<Option<u64>> {
        let metrics = match self {
            Self::Peer(_) => None,
            Self::Started(process) => process.metrics(),
            Self::Running { metrics, .. } => *metrics,
        };
        metrics.map_or(Ok(None), metrics::fsyncs)
    }

    /// Kills the server, as a crash does. Does nothing to one that was running before.
    pub(crate) fn kill(&self) {
        match self {
            Self::Started(process) => process.kill(),
            Self::Peer(peer) => peer.kill(),
            Self::Running { .. } => {}
        }
    }

    /// True if it accepts requests.
    pub(crate) fn is_ready(&self) -> bool {
        metrics::fetch(self.address(), "/readyz").is_ok()
    }

    /// The size of its data on disk; `None` if it is unknown.
    pub(crate) fn disk_bytes(&self) -> anyhow::Result<Option<u64>> {
        match self {
            Self::Started(process) => usage::disk_bytes(&process.data()).map(Some),
            Self::Peer(_) | Self::Running { .. } => Ok(None),
        }
    }

    /// Restarts it on the same data, perhaps on another port. Does nothing to one that was running before.
    pub(crate) fn start_again(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Started(process) => process.start_again(),
            Self::Peer(peer) => peer.start_again(),
            Self::Running { .. } => Ok(()),
        }
    }

    /// The last errors in the server's log, to explain a failure.
    pub(crate) fn last_words(&self) -> Option<String> {
        match self {
            Self::Started(process) => process.last_words(),
            Self::Peer(peer) => peer.last_words(),
            Self::Running { .. } => None,
        }
    }
}

fn address_of(url: &str) -> anyhow::Result<SocketAddr> {
    let wrong = || format!("`{url}` is not a server: use the form http://ADDRESS:PORT");
    url.strip_prefix("http://")
        .map(|rest| rest.trim_end_matches('/'))
        .and_then(|rest| rest.parse().ok())
        .with_context(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_addresses() {
        assert_eq!(address_of("http://127.0.0.1:8080/").unwrap().port(), 8080);
        for wrong in ["127.0.0.1:8080", "https://127.0.0.1:8080", "http://127.0.0.1", ""] {
            assert!(address_of(wrong).is_err(), "{wrong}");
        }
    }
}
