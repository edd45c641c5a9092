//! The `godwit` binary as a process.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::people::patience;
use crate::raw_http::RawHttp;
use crate::store::TestStore;

/// How often a server is restarted on a store with faults.
const STARTS_MAX: usize = 10;
const STEP: Duration = Duration::from_millis(5);

/// A server in its own process, with its own folder, on the store of this run. Dropping it kills the process, and shows its
/// stderr if the test fails.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    running: Option<Running>,
    /// Kept after the server has ended.
    addresses: Addresses,
    args: Vec<String>,
    data: PathBuf,
    stderr: Arc<Mutex<String>>,
    /// Present, and removed on drop, if this value owns it.
    folder: Option<TempDir>,
    _store: TestStore,
}

/// The addresses of a server.
#[derive(Debug, Clone, Copy)]
struct Addresses {
    clients: SocketAddr,
    metrics: Option<SocketAddr>,
}

impl ServerProcess {
    /// Starts a server on a fresh folder, and waits until it listens on a free port.
    pub(crate) async fn start() -> Self {
        Self::with_args(&[]).await
    }

    /// The same with a configuration file.
    pub(crate) async fn with_config(toml: &str) -> Self {
        Self::configured(TestStore::of_run(), toml).await
    }

    /// On another store than that of this run.
    pub(crate) async fn configured(store: TestStore, toml: &str) -> Self {
        let settings = format!("{}{toml}", store.settings());
        Self::start_configured(store, &settings).await
    }

    /// With a configuration that includes the location of the store.
    pub(crate) async fn started_with(toml: &str) -> Self {
        Self::start_configured(TestStore::Embedded, toml).await
    }

    async fn start_configured(store: TestStore, toml: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.toml");
        std::fs::write(&file, toml).unwrap();
        let args = ["--config", file.to_str().unwrap()];
        Self::start_in(store, folder, &args).await
    }

    /// The same with additional flags, such as `--set socket.heartbeat_ms=1000`.
    pub(crate) async fn with_args(args: &[&str]) -> Self {
        Self::start_in(TestStore::of_run(), tempfile::tempdir().unwrap(), args).await
    }

    /// Starts a server on a folder of the test.
    pub(crate) async fn on(data: &Path, args: &[&str]) -> Self {
        Self::start_on(TestStore::of_run(), data, args).await
    }

    async fn start_on(store: TestStore, data: &Path, args: &[&str]) -> Self {
        store.settle(data.parent().expect("the data folder is in a folder"));
        let mut server = Self {
            running: None,
            addresses: Addresses { clients: SocketAddr::from(([127, 0, 0, 1], 0)), metrics: None },
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            data: data.to_owned(),
            stderr: Arc::default(),
            folder: None,
            _store: store,
        };
        server.start_again().await;
        server
    }

    async fn start_in(store: TestStore, folder: TempDir, args: &[&str]) -> Self {
        let mut server = Self::start_on(store, &folder.path().join("data"), args).await;
        server.folder = Some(folder);
        server
    }

    /// Starts it again with the same data and flags, on another port, after it has ended.
    pub(crate) async fn start_again(&mut self) {
        if let Err(status) = self.try_to_start().await {
            panic!("the server ended with {status} before it listened; its log:\n{}", self.stderr());
        }
    }

    /// The same on a store with faults: a server that fails to start is started again.
    pub(crate) async fn restart_repeatedly(&mut self) {
        for _ in 1..STARTS_MAX {
            if self.try_to_start().await.is_ok() {
                return;
            }
            sleep(Duration::from_secs(1)).await;
        }
        self.start_again().await;
    }

    async fn try_to_start(&mut self) -> Result<(), ExitStatus> {
        assert!(self.running.is_none(), "the server still runs");
        let mut running = Running::spawn(&self.data, &self.args, &self.stderr);
        match timeout(patience(), &mut running.addresses).await {
            Err(_) => panic!("the server does not start; its log:\n{}", self.stderr()),
            Ok(Err(_)) => return Err(running.wait().await),
            Ok(Ok(addresses)) => self.addresses = addresses,
        }
        self.running = Some(running);
        Ok(())
    }

    /// Such as `http://127.0.0.1:43021`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.addresses.clients
    }

    /// The address of its metrics.
    pub(crate) fn metrics_url(&self) -> String {
        format!("http://{}", self.addresses.metrics.expect("it says where its metrics are"))
    }

    /// All of its metrics.
    pub(crate) async fn metrics(&self) -> String {
        RawHttp::new(&self.metrics_url()).ask("GET", "/metrics").send().await.body
    }

    pub(crate) fn data_dir(&self) -> &Path {
        &self.data
    }

    pub(crate) fn pid(&self) -> u32 {
        self.running.as_ref().expect("the server runs").child.id()
    }

    /// Its stderr so far, including earlier runs.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// Sends SIGTERM, waits, and checks for a clean exit.
    pub(crate) async fn stop(&mut self) {
        self.signal(Signal::TERM);
        let status = self.wait().await;
        assert!(status.success(), "the server stopped with {status}; its log:\n{}", self.stderr());
    }

    /// Sends SIGKILL, and waits until the process has ended.
    pub(crate) async fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.wait().await;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let running = self.running.as_ref().expect("the server runs");
        kill_process(Pid::from_child(&running.child), signal).expect("the process can be signalled");
    }

    /// Makes every further growth of the server's files fail, as on a full disk.
    pub(crate) fn fill_disk(&self) {
        self.limit_files(0);
    }

    /// Makes writes beyond this file size fail, even within a record.
    pub(crate) fn limit_files(&self, bytes: u64) {
        let running = self.running.as_ref().expect("the server runs");
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        prlimit(Some(Pid::from_child(&running.child)), Resource::Fsize, limit).expect("the limit can be set");
    }

    /// Waits until the process has ended.
    pub(crate) async fn wait(&mut self) -> ExitStatus {
        let mut running = self.running.take().expect("the server runs");
        match timeout(patience(), running.wait()).await {
            Ok(status) => status,
            Err(_) => panic!("the server does not end; its log:\n{}", self.stderr()),
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.running = None;
        if thread::panicking() {
            eprintln!("the log of the server:\n{}", self.stderr());
        }
    }
}

/// One run of the binary. Dropping it kills the process.
#[derive(Debug)]
struct Running {
    child: Child,
    addresses: oneshot::Receiver<Addresses>,
    log: Option<thread::JoinHandle<()>>,
}

impl Running {
    fn spawn(data: &Path, args: &[String], log: &Arc<Mutex<String>>) -> Self {
        let mut child = godwit(data)
            .args(["serve", "--listen", "127.0.0.1:0", "--set", "metrics.listen=127.0.0.1:0"])
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary can be started");
        let log = gather(child.stderr.take().expect("stderr is piped"), log.clone());
        let addresses = find_addresses(child.stdout.take().expect("stdout is piped"));
        Self { child, addresses, log: Some(log) }
    }

    async fn wait(&mut self) -> ExitStatus {
        loop {
            if let Some(status) = self.child.try_wait().expect("the process can be waited for") {
                self.finish_log();
                return status;
            }
            sleep(STEP).await;
        }
    }

    /// The process has ended, so its log is complete.
    fn finish_log(&mut self) {
        if let Some(log) = self.log.take() {
            log.join().expect("the log can be read");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.finish_log();
    }
}

/// Runs a command to its end.
pub(crate) fn run<S: AsRef<OsStr>>(data: &Path, args: &[S]) -> Output {
    run_with_stdin(data, args, "")
}

pub(crate) fn run_with_stdin<S: AsRef<OsStr>>(data: &Path, args: &[S], input: &str) -> Output {
    let mut child = godwit(data)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be started");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // A command that does not read its input may have ended already.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("the process can be waited for")
}

/// The binary, isolated from the developer's own configuration. Writes beyond the file size limit return an error, as on a
/// full disk, instead of the signal that ends a process by default.
pub(crate) fn godwit(data: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#, env!("CARGO_BIN_EXE_godwit")]);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GODWIT_") {
            command.env_remove(name);
        }
    }
    command.env("GODWIT_DATA", data).current_dir(data.parent().expect("the data folder is in a folder"));
    command
}

/// Reads all output, so that the process never blocks.
fn gather(stream: impl Read + Send + 'static, text: Arc<Mutex<String>>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let mut text = text.lock().unwrap();
            text.push_str(&line);
            text.push('\n');
        }
    })
}

/// Finds the addresses in the output, and continues to read, so that the process never blocks.
fn find_addresses(stream: impl Read + Send + 'static) -> oneshot::Receiver<Addresses> {
    let (sender, receiver) = oneshot::channel();
    thread::spawn(move || {
        let (mut sender, mut metrics) = (Some(sender), None);
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if let Some(page) = line.strip_prefix("metrics at http://") {
                metrics = page.strip_suffix("/metrics").map(|address| address.parse().expect("an address"));
            }
            if let Some(address) = line.strip_prefix("listening on http://")
                && let Some(sender) = sender.take()
            {
                let _ = sender.send(Addresses { clients: address.parse().expect("an address"), metrics });
            }
        }
    });
    receiver
}
