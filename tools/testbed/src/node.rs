//! One node: its folder, its start, and its log.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use crate::config::{self, NodeConfig};
use crate::error::{Doing as _, TestbedError};
use crate::net::{CQL_PORT, Net, STORAGE_PORT};
use crate::process::Process;

/// The program and its arguments, one per line, so that any process starts the node in the same way.
const COMMAND: &str = "command";
const START_WAIT_MAX: Duration = Duration::from_secs(180);
const NOTICE_WAIT_MAX: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) number: u8,
    pub(super) address: Ipv4Addr,
    folder: PathBuf,
    process: Process,
}

impl Node {
    pub(super) fn at(state_folder: &Path, net: Net, number: u8) -> Self {
        let folder = Self::folder(state_folder, number);
        let process = Process::new(format!("node {number}"), folder.clone(), state_folder);
        Self { number, address: net.address(number), folder, process }
    }

    pub(super) fn folder(state_folder: &Path, number: u8) -> PathBuf {
        state_folder.join(format!("node{number}"))
    }

    /// Writes all files that the node needs to start.
    pub(super) fn prepare(
        &self,
        java: &Path,
        arguments: &[String],
        config: &NodeConfig<'_>,
    ) -> Result<(), TestbedError> {
        let temporary = self.folder.join("tmp");
        fs::create_dir_all(&temporary).doing(|| format!("create {}", temporary.display()))?;
        let command = format!("{}\n{}", java.display(), arguments.join("\n"));
        let files = [
            (config::YAML, config.yaml()),
            (config::RACK, config.rack()),
            (config::LOGBACK, config::logback().to_owned()),
            (COMMAND, command),
        ];
        for (name, text) in files {
            let path = self.folder.join(name);
            fs::write(&path, text).doing(|| format!("write {}", path.display()))?;
        }
        Ok(())
    }

    /// Starts the node, unless it runs. Does not wait until it is up.
    pub(super) fn launch(&self) -> Result<(), TestbedError> {
        if self.is_running() {
            return Ok(());
        }
        let path = self.folder.join(COMMAND);
        let command = fs::read_to_string(&path).doing(|| format!("read {}", path.display()))?;
        let (java, arguments) = command.split_once('\n').unwrap_or((&command, ""));
        let arguments: Vec<String> = arguments.lines().map(str::to_owned).collect();
        self.process.start(Path::new(java), &arguments)
    }

    pub(super) fn wait_until_up(&self, mut meanwhile: impl FnMut()) -> Result<(), TestbedError> {
        self.process.wait_for("up", START_WAIT_MAX, |log| {
            meanwhile();
            log.contains("Startup complete")
        })
    }

    /// Waits until the log says that a peer is up (or down), and does not say the contrary after that. Ignores
    /// the log before `since`, which is from before the peer was disturbed.
    pub(super) fn wait_until_it_sees(
        &self,
        peer: &Self,
        up: bool,
        since: LogMark,
    ) -> Result<(), TestbedError> {
        let what = format!("aware that {} is {}", peer.address, if up { "up" } else { "down" });
        self.process.wait_for(&what, NOTICE_WAIT_MAX, |log| {
            sees(log.get(since.0..).unwrap_or(log), peer.address) == Some(up)
        })
    }

    pub(super) fn sees(&self, peer: &Self) -> Option<bool> {
        sees(&self.process.log(), peer.address)
    }

    /// The present end of the log.
    pub(super) fn log_mark(&self) -> LogMark {
        LogMark(self.process.log().len())
    }

    /// Waits until the log contains a text.
    pub(super) fn wait_for_log(&self, what: &str, text: &str) -> Result<(), TestbedError> {
        self.process.wait_for(what, START_WAIT_MAX, |log| log.contains(text))
    }

    pub(super) fn contact_point(&self) -> String {
        format!("{}:{CQL_PORT}", self.address)
    }

    pub(super) fn is_running(&self) -> bool {
        self.process.is_running()
    }

    pub(super) fn pid(&self) -> Option<i32> {
        self.process.pid()
    }

    pub(super) fn kill(&self) -> Result<(), TestbedError> {
        self.process.kill()
    }

    pub(super) fn pause(&self) -> Result<(), TestbedError> {
        self.process.signal(Signal::STOP)
    }

    pub(super) fn resume(&self) -> Result<(), TestbedError> {
        self.process.signal(Signal::CONT)
    }
}

/// A position in the log of a node.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LogMark(usize);

/// The last state of a peer in the log. A restarted peer has none until the log says that it is up.
fn sees(log: &str, peer: Ipv4Addr) -> Option<bool> {
    let up = format!("/{peer}:{STORAGE_PORT} is now UP");
    let down = format!("/{peer}:{STORAGE_PORT} is now DOWN");
    let restarted = format!("/{peer}:{STORAGE_PORT} has restarted");
    log.lines().rev().find_map(|line| {
        let is = |text: &str| line.contains(text);
        if is(&up) {
            Some(Some(true))
        } else if is(&down) {
            Some(Some(false))
        } else {
            is(&restarted).then_some(None)
        }
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Ipv4Addr = Ipv4Addr::new(127, 0, 41, 2);

    #[test]
    fn the_last_state_in_the_log_counts() {
        let up = "INFO  … Gossiper InetAddress /127.0.41.2:7000 is now UP";
        let down = "INFO  … Gossiper InetAddress /127.0.41.2:7000 is now DOWN";
        let restarted = "INFO  … Gossiper Node /127.0.41.2:7000 has restarted, now UP";
        let other = "INFO  … Gossiper InetAddress /127.0.41.20:7000 is now DOWN";
        assert_eq!(sees("", PEER), None);
        assert_eq!(sees(&[up, other].join("\n"), PEER), Some(true));
        assert_eq!(sees(&[up, down].join("\n"), PEER), Some(false));
        assert_eq!(sees(&[up, down, restarted].join("\n"), PEER), None);
        assert_eq!(sees(&[up, restarted, up].join("\n"), PEER), Some(true));
    }
}
