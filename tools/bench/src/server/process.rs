//! Godwit in its own process, on a fresh folder.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};

use super::running::{Running, last_line};

/// Users sign in with tokens signed with this key, so that no password is hashed. It gives access only to servers that
/// listen on this machine for the duration of a run.
pub(crate) const KEY: &str = "godwit-bench-application-secret-for-one-run";

/// Without limits per address, because all connections come from one.
pub(crate) const CONFIG: &str = r#"
[server]
connections_per_address_max = 200000
connections_per_network_max = 200000
anonymous_max = 200000
anonymous_per_address_max = 200000
anonymous_per_network_max = 200000
[socket]
per_user_max = 200000
per_device_max = 200000
[auth]
passwords_enabled = false
[auth.application]
secret = "godwit-bench-application-secret-for-one-run"
accept_any_issuer = true
accept_any_audience = true
[metrics]
listen = "127.0.0.1:0"
[log]
level = "warn"
[rates]
sign_in_per_address = { per_minute = 0 }
sign_in_per_network = { per_minute = 0 }
sign_in_per_user = { per_minute = 0 }
sign_in_per_user_and_network = { per_minute = 0 }
sign_in_per_device = { per_minute = 0 }
known_sign_in_per_user = { per_minute = 0 }
known_sign_in_per_address = { per_minute = 0 }
register_per_address = { per_minute = 0 }
register_per_network = { per_minute = 0 }
refresh_per_address = { per_minute = 0 }
refresh_per_device = { per_minute = 0 }
socket_sign_in_per_address = { per_minute = 0 }
socket_sign_in_per_user = { per_minute = 0 }
send_per_user = { per_minute = 0 }
send_per_address = { per_minute = 0 }
written_kib_per_user = { per_minute = 0 }
search_per_user = { per_minute = 0 }
search_per_address = { per_minute = 0 }
changes_per_user = { per_minute = 0 }
commands_per_user = { per_minute = 0 }
pings_per_user = { per_minute = 0 }
pages_per_address = { per_minute = 0 }
[groups]
added_per_day_max = 0
strangers_added_per_day_max = 0
made_per_day_max = 0
"#;

const START_MAX: Duration = Duration::from_secs(30);
/// In the folder of the run.
const DATA: &str = "data";

#[derive(Debug)]
pub(crate) struct ServerProcess {
    running: Running,
    command: Command,
    log: PathBuf,
    addresses: Addresses,
}

/// The addresses of a server.
#[derive(Debug, Clone, Copy)]
struct Addresses {
    clients: SocketAddr,
    metrics: Option<SocketAddr>,
}

impl ServerProcess {
    /// Must be called on a runtime.
    pub(crate) fn start(binary: &Path, data: &Path, settings: &[String]) -> anyhow::Result<Self> {
        let running = Running::new(data)?;
        let folder = running.folder();
        let (config, log) = (folder.join("godwit.toml"), folder.join("server.log"));
        fs::write(&config, CONFIG)?;
        let mut command = Command::new(binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&config);
        command.arg("--data").arg(folder.join(DATA));
        command.args(settings.iter().flat_map(|setting| ["--set", setting]));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        // Settings in the environment are for other servers. Ctrl-C reaches only this program, which stops the server.
        remove_settings(&mut command);
        command.process_group(0);
        let addresses = Addresses { clients: SocketAddr::from(([127, 0, 0, 1], 0)), metrics: None };
        let mut server = Self { running, command, log, addresses };
        server.start_again()?;
        Ok(server)
    }

    pub(crate) fn kill(&self) {
        self.running.kill();
    }

    /// The folder of its data.
    pub(crate) fn data(&self) -> PathBuf {
        self.running.folder().join(DATA)
    }

    /// Kills it if it is running, and starts it with the same data, on another port.
    pub(crate) fn start_again(&mut self) -> anyhow::Result<()> {
        self.kill();
        let program = Path::new(self.command.get_program()).display().to_string();
        let mut child = self.command.spawn().with_context(|| format!("cannot start {program}"))?;
        let stdout = child.stdout.take().context("its stdout is piped")?;
        self.running.add(child, false);
        match find_addresses(stdout).recv_timeout(START_MAX) {
            Ok(addresses) => self.addresses = addresses,
            Err(RecvTimeoutError::Timeout) => {
                bail!("the server did not start within {} s", START_MAX.as_secs())
            }
            Err(RecvTimeoutError::Disconnected) => {
                let words = self.last_words().unwrap_or_else(|| "it exited without output".to_owned());
                bail!("the server does not start: {words}")
            }
        }
        Ok(())
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.addresses.clients
    }

    /// The address of its metrics.
    pub(crate) const fn metrics(&self) -> Option<SocketAddr> {
        self.addresses.metrics
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.running.pid()
    }

    /// The last line of its log.
    pub(crate) fn last_words(&self) -> Option<String> {
        last_line(&self.log)
    }
}

fn remove_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GODWIT_") {
            command.env_remove(name);
        }
    }
}

/// Finds the addresses in the server's output, and continues to read, so that the server never blocks.
fn find_addresses(stdout: ChildStdout) -> Receiver<Addresses> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut metrics = None;
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let after = |prefix| line.strip_prefix(prefix);
            if let Some(page) = after("metrics at http://").and_then(|rest| rest.strip_suffix("/metrics")) {
                metrics = page.parse().ok();
            }
            if let Some(clients) = after("listening on http://").and_then(|rest| rest.parse().ok()) {
                // An error means that the caller no longer waits.
                let _ = sender.send(Addresses { clients, metrics });
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use tempfile::TempDir;

    use super::*;

    /// Beside this test, because the folder for temporary files may be in memory.
    fn folder() -> TempDir {
        tempfile::tempdir_in(std::env::current_exe().unwrap().parent().unwrap()).unwrap()
    }

    /// A script in place of the server.
    fn script(folder: &Path, text: &str) -> PathBuf {
        let path = folder.join("godwit");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn exists(pid: u32) -> bool {
        Path::new(&format!("/proc/{pid}")).exists()
    }

    #[tokio::test]
    async fn a_stopped_server_leaves_no_folder() {
        let folder = folder();
        let binary = script(
            folder.path(),
            "echo 'metrics at http://127.0.0.1:4322/metrics'; echo 'listening on http://127.0.0.1:4321'; exec sleep 60",
        );
        let data = folder.path().join("data");
        let mut server = ServerProcess::start(&binary, &data, &[]).unwrap();
        assert_eq!(server.address().port(), 4321);
        assert_eq!(server.metrics().map(|address| address.port()), Some(4322));
        let first = server.pid().unwrap();
        server.start_again().unwrap();
        assert!(!exists(first));
        let pid = server.pid().unwrap();
        assert!(exists(pid) && fs::read_dir(&data).unwrap().count() == 1);
        drop(server);
        assert!(!exists(pid) && fs::read_dir(&data).unwrap().count() == 0);
    }

    #[tokio::test]
    async fn a_failed_start_reports_the_reason() {
        let folder = folder();
        let binary = script(folder.path(), "echo 'error: no room' >&2; exit 1");
        let error = ServerProcess::start(&binary, folder.path(), &[]).unwrap_err();
        assert_eq!(error.to_string(), "the server does not start: error: no room");
        let gone = ServerProcess::start(&folder.path().join("nothing"), folder.path(), &[]).unwrap_err();
        assert!(gone.to_string().contains("cannot start"), "{gone}");
    }
}
