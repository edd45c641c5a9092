//! The server that is measured: started for the run, or one that runs already.
//!
//! - [`process`]: starting it and ending it, whatever happens
//! - [`usage`]: what it and this program use of the machine
//! - [`metrics`]: what it says about itself
//! - [`machine`]: on what all of this runs

pub(crate) mod machine;
mod metrics;
pub(crate) mod process;
pub(crate) mod usage;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;

use process::ServerProcess;

/// Where the folder of a server that is started is made.
const DATA_DEFAULT: &str = "target";

/// Which server.
#[derive(Debug, Clone, Args)]
pub(crate) struct Which {
    /// The godwit binary that is started [default: the one beside this program]
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    server: Option<PathBuf>,

    /// Where the server's temporary folder is made: on a real disk [default: target]
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    data: Option<PathBuf>,

    /// A setting of the server that is started, such as socket.heartbeat_ms=5000; can be given several times
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "url")]
    set: Vec<String>,

    /// Use a server that runs, such as http://127.0.0.1:8080. It must not limit rates
    #[arg(long, value_name = "URL", requires = "key")]
    url: Option<String>,

    /// Its auth.application.secret
    #[arg(long, value_name = "SECRET", requires = "url")]
    key: Option<String>,

    /// Its process, if it runs on this machine, to tell what it uses
    #[arg(long, value_name = "PID", requires = "url")]
    pid: Option<u32>,
}

/// A server that can be talked to. One that was started ends with this.
#[derive(Debug)]
pub(crate) enum Server {
    Started(ServerProcess),
    Running { address: SocketAddr, key: String, pid: Option<u32> },
}

impl Which {
    /// To be called on a runtime: it watches for Ctrl-C.
    pub(crate) fn start(&self) -> anyhow::Result<Server> {
        if let (Some(url), Some(key)) = (&self.url, &self.key) {
            return Ok(Server::Running { address: address_of(url)?, key: key.clone(), pid: self.pid });
        }
        let binary = match &self.server {
            Some(path) => path.clone(),
            None => std::env::current_exe()?.with_file_name("godwit"),
        };
        ensure!(binary.is_file(), "{} is not there: build it, or say --server PATH", binary.display());
        let data = self.data.as_deref().unwrap_or(Path::new(DATA_DEFAULT));
        Ok(Server::Started(ServerProcess::start(&binary, data, &self.set)?))
    }
}

impl Server {
    pub(crate) const fn address(&self) -> SocketAddr {
        match self {
            Self::Started(process) => process.address(),
            Self::Running { address, .. } => *address,
        }
    }

    /// With which tokens are signed.
    pub(crate) fn key(&self) -> &str {
        match self {
            Self::Started(_) => process::KEY,
            Self::Running { key, .. } => key,
        }
    }

    /// `None` when it is not known.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::Started(process) => process.pid(),
            Self::Running { pid, .. } => *pid,
        }
    }

    /// How often it has made something durable; `None` if it does not say.
    pub(crate) fn fsyncs(&self) -> anyhow::Result<Option<u64>> {
        metrics::fsyncs(self.address())
    }

    /// Starts it again on the same data, on another port. One that ran before goes on as it is.
    pub(crate) fn start_again(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Started(process) => process.start_again(),
            Self::Running { .. } => Ok(()),
        }
    }

    /// What the server wrote about its troubles, to explain an error.
    pub(crate) fn last_words(&self) -> Option<String> {
        match self {
            Self::Started(process) => process.last_words(),
            Self::Running { .. } => None,
        }
    }
}

fn address_of(url: &str) -> anyhow::Result<SocketAddr> {
    let wrong = || format!("`{url}` is not a server: write http://ADDRESS:PORT");
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
