//! Redis on a free port, with a folder of its own, and without persistence.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::Signal;

use crate::error::{Doing as _, TestbedError};
use crate::leash::Leash;
use crate::process::Process;
use crate::tools;

const FAMILIAR_PORT: u16 = 6379;
const START_WAIT_MAX: Duration = Duration::from_secs(60);
const ADDRESS: Ipv4Addr = Ipv4Addr::LOCALHOST;
const PORT: &str = "port";
const FOLDER: &str = "redis";
/// Enough for every test of a run.
const DATABASES: u32 = 4_096;

/// The Redis of one test. It ends when this is dropped or the process ends.
#[derive(Debug)]
pub struct Redis {
    server: RedisServer,
    next_database: AtomicU32,
    _leash: Leash,
}

impl Redis {
    pub fn start() -> Result<Self, TestbedError> {
        let leash = Leash::on_new_folder("godwit-redis-")?;
        let server = RedisServer::start(leash.folder(), free_port()?)?;
        Ok(Self { server, next_database: AtomicU32::new(1), _leash: leash })
    }

    /// The address for clients: `redis://127.0.0.1:41234/`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The address of a database that no other caller gets. Clients of different databases do not share data.
    pub fn new_database(&self) -> String {
        format!("{}{}", self.url(), self.next_database.fetch_add(1, Ordering::Relaxed))
    }

    /// Kills Redis, which loses its data.
    pub fn kill(&self) -> Result<(), TestbedError> {
        self.server.stop()
    }

    /// Starts Redis again on the same port, without data.
    pub fn start_again(&self) -> Result<(), TestbedError> {
        self.server.launch()
    }

    /// Removes all data while Redis runs.
    pub fn forget_all(&self) -> Result<(), TestbedError> {
        let doing = || "flush Redis".to_owned();
        let mut connection = TcpStream::connect((ADDRESS, self.server.port)).doing(doing)?;
        connection.write_all(b"FLUSHALL\r\n").doing(doing)?;
        let mut answer = [0; 5];
        connection.read_exact(&mut answer).doing(doing)
    }

    /// Pauses Redis: its connections stay open, and it does not answer.
    pub fn pause(&self) -> Result<(), TestbedError> {
        self.server.process.signal(Signal::STOP)
    }

    pub fn resume(&self) -> Result<(), TestbedError> {
        self.server.process.signal(Signal::CONT)
    }
}

/// Redis in the state folder of a cluster.
#[derive(Debug)]
pub struct RedisServer {
    process: Process,
    folder: PathBuf,
    port: u16,
}

impl RedisServer {
    /// Starts a Redis that stays when this process ends, on the usual port if that is free.
    pub fn start_to_stay(state_folder: &Path) -> Result<Self, TestbedError> {
        let familiar = TcpListener::bind((ADDRESS, FAMILIAR_PORT)).is_ok();
        let port = if familiar { FAMILIAR_PORT } else { free_port()? };
        Self::start(state_folder, port)
    }

    /// The Redis that was started in this folder, if it runs.
    pub fn running(state_folder: &Path) -> Option<Self> {
        let folder = state_folder.join(FOLDER);
        let port = std::fs::read_to_string(folder.join(PORT)).ok()?.parse().ok()?;
        Some(Self::at(state_folder, port)).filter(|server| server.process.is_running())
    }

    fn at(state_folder: &Path, port: u16) -> Self {
        let folder = state_folder.join(FOLDER);
        let process = Process::new("Redis".to_owned(), folder.clone(), state_folder);
        Self { process, folder, port }
    }

    fn start(state_folder: &Path, port: u16) -> Result<Self, TestbedError> {
        let server = Self::at(state_folder, port);
        let folder = &server.folder;
        std::fs::create_dir_all(folder).doing(|| format!("create {}", folder.display()))?;
        std::fs::write(folder.join(PORT), port.to_string()).doing(|| "note the port of Redis".to_owned())?;
        server.launch()?;
        Ok(server)
    }

    fn launch(&self) -> Result<(), TestbedError> {
        let port = self.port.to_string();
        let address = ADDRESS.to_string();
        let databases = DATABASES.to_string();
        let arguments = ["--port", &port, "--bind", &address, "--databases", &databases]
            .into_iter()
            .chain(["--save", "", "--appendonly", "no"])
            .map(str::to_owned)
            .collect::<Vec<_>>();
        self.process.start(&tools::redis_server()?, &arguments)?;
        self.process.wait_for("up", START_WAIT_MAX, |log| log.contains("Ready to accept connections"))
    }

    pub fn url(&self) -> String {
        format!("redis://{ADDRESS}:{}/", self.port)
    }

    pub fn stop(&self) -> Result<(), TestbedError> {
        self.process.kill()
    }
}

pub(super) fn free_port() -> Result<u16, TestbedError> {
    let port = TcpListener::bind((ADDRESS, 0)).and_then(|listener| listener.local_addr());
    Ok(port.doing(|| "find a free port".to_owned())?.port())
}
