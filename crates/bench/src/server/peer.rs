//! Another messenger, with what it stands on: processes that are started one after the other, in one fresh folder.

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

/// One of its processes. Those that are needed come first, the server that is talked to last.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) command: Command,
    pub(crate) ready: Ready,
    /// It has something of the machine to give back, so it is asked to end when all is over.
    pub(crate) is_asked: bool,
}

/// How one sees that a process can be used.
#[derive(Debug, Clone)]
pub(crate) enum Ready {
    /// It takes connections.
    Port(SocketAddr),
    /// It shows a page.
    Page(SocketAddr, &'static str),
    /// A program that looks ends well.
    Program(Vec<String>),
}

impl PeerProcess {
    /// Nothing runs yet. To be called on a runtime: it watches for Ctrl-C.
    pub(crate) fn new(data: &Path) -> anyhow::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Ok(Self { running: Running::new(data)?, parts: Vec::new(), address })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.running.folder()
    }

    /// Starts a process. Ctrl-C is for this program, which ends it.
    pub(crate) fn start(&mut self, mut part: Part) -> anyhow::Result<()> {
        part.command.process_group(0).stdin(Stdio::null());
        self.parts.push(part);
        self.start_part(self.parts.len() - 1)
    }

    /// Where it is talked to.
    pub(crate) const fn listens_at(&mut self, address: SocketAddr) {
        self.address = address;
    }

    /// Ends all of it at once, as a crash does.
    pub(crate) fn kill(&self) {
        self.running.kill();
    }

    /// Ends all of it at once, and starts it again.
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
                ensure!(began.elapsed() < START_MAX, "it does not start within {} s", START_MAX.as_secs());
                thread::sleep(LOOK_INTERVAL);
            }
            // What was ended a moment ago may still hold what this one needs.
            if began.elapsed() > START_MAX / 10 {
                let words =
                    last_line(&self.log(index)).unwrap_or_else(|| "it ends and says nothing".to_owned());
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
        let child = command.spawn().with_context(|| format!("{program} cannot be started"))?;
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

/// A port that nobody listens on now.
pub(crate) fn free_port() -> anyhow::Result<SocketAddr> {
    let [port] = free_ports()?;
    Ok(port)
}

/// Different ones.
pub(crate) fn free_ports<const N: usize>() -> anyhow::Result<[SocketAddr; N]> {
    let listeners: Vec<TcpListener> =
        (0..N).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect::<Result<_, _>>()?;
    let mut ports = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)); N];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?;
    }
    Ok(ports)
}

/// Runs something that ends by itself, and says why it failed if it did.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let program = Path::new(command.get_program()).display().to_string();
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("{program} cannot be started"))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
        bail!("{program} fails: {last}");
    }
    Ok(())
}

/// Writes a file that a peer is configured with.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
