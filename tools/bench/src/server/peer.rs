//! Another messenger with its dependencies: processes that are started one after the other, in one fresh folder.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::metrics;
use super::running::{Running, last_line};

const START_MAX: Duration = Duration::from_secs(60);
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct PeerProcess {
    running: Running,
    parts: Vec<Part>,
    address: SocketAddr,
}

/// One of its processes. Dependencies come first, the server itself last.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) command: Command,
    pub(crate) ready: Ready,
    /// It holds resources of the machine, so it is asked to end at the end of the run.
    pub(crate) is_asked: bool,
}

/// How to detect that a process is ready.
#[derive(Debug, Clone)]
pub(crate) enum Ready {
    /// It accepts connections.
    Port(SocketAddr),
    /// It serves a page.
    Page(SocketAddr, &'static str),
    /// A check program succeeds.
    Program(Vec<String>),
}

impl PeerProcess {
    /// Starts no process yet. Must be called on a runtime: watches for Ctrl-C.
    pub(crate) fn new(data: &Path) -> anyhow::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Ok(Self { running: Running::new(data)?, parts: Vec::new(), address })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.running.folder()
    }

    /// Starts a process. Ctrl-C reaches only this program, which stops the process.
    pub(crate) fn start(&mut self, mut part: Part) -> anyhow::Result<()> {
        part.command.process_group(0).stdin(Stdio::null());
        self.parts.push(part);
        self.start_part(self.parts.len() - 1)
    }

    /// Sets the address of the server.
    pub(crate) const fn listens_at(&mut self, address: SocketAddr) {
        self.address = address;
    }

    /// Kills all processes, as a crash does.
    pub(crate) fn kill(&self) {
        self.running.kill();
    }

    /// Kills all processes and starts them again.
    pub(crate) fn start_again(&mut self) -> anyhow::Result<()> {
        self.kill();
        (0..self.parts.len()).try_for_each(|part| self.start_part(part))
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.running.pid()
    }

    /// The last line of the server's log.
    pub(crate) fn last_words(&self) -> Option<String> {
        last_line(&self.log(self.parts.len().checked_sub(1)?))
    }

    fn log(&self, part: usize) -> PathBuf {
        self.folder().join(format!("{part}.log"))
    }

    fn start_part(&mut self, index: usize) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            self.spawn(index)?;
            while !self.running.has_ended() {
                if self.parts[index].ready.is_it() {
                    return Ok(());
                }
                ensure!(began.elapsed() < START_MAX, "it did not start within {} s", START_MAX.as_secs());
                thread::sleep(LOOK_INTERVAL);
            }
            // A killed process may still hold resources that this one needs.
            if began.elapsed() > START_MAX / 10 {
                let words =
                    last_line(&self.log(index)).unwrap_or_else(|| "it exited without output".to_owned());
                bail!("it does not start: {words}");
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }

    fn spawn(&mut self, index: usize) -> anyhow::Result<()> {
        let log = File::create(self.log(index))?;
        let Part { command, is_asked, .. } = &mut self.parts[index];
        command.stdout(log.try_clone()?).stderr(log);
        let program = Path::new(command.get_program()).display().to_string();
        let child = command.spawn().with_context(|| format!("cannot start {program}"))?;
        self.running.add(child, *is_asked);
        Ok(())
    }
}

impl Ready {
    fn is_it(&self) -> bool {
        match self {
            Self::Port(address) => TcpStream::connect(address).is_ok(),
            Self::Page(address, path) => metrics::fetch(*address, path).is_ok(),
            Self::Program(words) => run(Command::new(&words[0]).args(&words[1..])).is_ok(),
        }
    }
}

/// A free port.
pub(crate) fn free_port() -> anyhow::Result<SocketAddr> {
    let [port] = free_ports()?;
    Ok(port)
}

/// Distinct ports.
pub(crate) fn free_ports<const N: usize>() -> anyhow::Result<[SocketAddr; N]> {
    let listeners: Vec<TcpListener> =
        (0..N).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect::<Result<_, _>>()?;
    let mut ports = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)); N];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?;
    }
    Ok(ports)
}

/// Runs a program to its end, and returns an error with the reason if it failed.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let program = Path::new(command.get_program()).display().to_string();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no output");
        bail!("{program} failed: {last}");
    }
    Ok(())
}

/// Writes a configuration file of a peer.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
