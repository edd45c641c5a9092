//! Three nodes of Cassandra on this machine: around one command (`exec`, for tests), or to stay (`up`, for
//! development).

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};

use clap::{Parser, Subcommand};
use godwit_testkit::cluster::{CLUSTER_VARIABLE, ClusterError, Nodes, Owned, RedisServer, fetch_cassandra};
use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};

/// Says to whoever called that nothing was run, because it cannot be here.
const SKIPPED: u8 = 77;

/// Starts and stops a local three-node Cassandra.
#[derive(Parser)]
#[command(name = "godwit-cluster", version)]
struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Run a command while three nodes run, and stop them when it has ended
    ///
    /// The command finds the cluster by GODWIT_TEST_CLUSTER. The exit status is that of the command. Where Cassandra
    /// cannot be had the command is not run: exit status 77, or 1 if CI is set.
    Exec {
        /// Also write into this file why the command was not run
        #[arg(long, value_name = "FILE")]
        reason: Option<PathBuf>,
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Fetch Cassandra if it is not there yet, so that nobody has to wait for it later
    Fetch,
    /// Start three nodes and leave them running
    Up {
        #[command(flatten)]
        place: Place,
        /// Start Redis too
        #[arg(long)]
        redis: bool,
    },
    /// Stop what `up` started, and remove its data
    Down {
        #[command(flatten)]
        place: Place,
        /// Do not remove the data: `up` then goes on with it
        #[arg(long)]
        keep: bool,
    },
    /// Show what runs
    Status {
        #[command(flatten)]
        place: Place,
    },
}

#[derive(clap::Args)]
struct Place {
    /// Where the cluster keeps its data [default: dev-cluster in the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().action {
        Action::Exec { reason, command } => return exec(&command, reason.as_deref()),
        Action::Fetch => fetch_cassandra().map(|()| ExitCode::SUCCESS),
        Action::Up { place, redis } => place.folder().and_then(|folder| up(&folder, redis)),
        Action::Down { place, keep } => place.folder().and_then(|folder| down(&folder, keep)),
        Action::Status { place } => place.folder().and_then(|folder| status(&folder)),
    };
    done.unwrap_or_else(|error| {
        eprintln!("godwit-cluster: {error}");
        ExitCode::FAILURE
    })
}

fn exec(command: &[OsString], reason: Option<&Path>) -> ExitCode {
    match Owned::start() {
        Ok(cluster) => run(command, cluster.nodes().folder()).unwrap_or_else(|error| {
            eprintln!("godwit-cluster: cannot run {}: {error}", command[0].display());
            ExitCode::FAILURE
        }),
        Err(error) => refuse(&error, reason),
    }
}

fn refuse(error: &ClusterError, reason: Option<&Path>) -> ExitCode {
    let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    eprintln!("\ngodwit-cluster: NO CASSANDRA, so nothing was run: {error}\n");
    if let Some(Err(error)) = reason.map(|file| std::fs::write(file, error.to_string())) {
        eprintln!("godwit-cluster: the reason could not be written down: {error}");
    }
    if error.is_absence() && !in_ci { ExitCode::from(SKIPPED) } else { ExitCode::FAILURE }
}

/// Signals go to the command, and the nodes stay until that has ended.
#[tokio::main(flavor = "current_thread")]
async fn run(command: &[OsString], folder: &Path) -> io::Result<ExitCode> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let child = Command::new(&command[0]).args(&command[1..]).env(CLUSTER_VARIABLE, folder).spawn()?;
    let pid = Pid::from_child(&child);
    let mut ended = tokio::task::spawn_blocking(move || wait(child));
    loop {
        tokio::select! {
            status = &mut ended => return Ok(exit_code(status??)),
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
        // It may have ended just now.
        let _ = kill_process(pid, Signal::TERM);
    }
}

fn wait(mut child: Child) -> io::Result<ExitStatus> {
    child.wait()
}

/// As a shell tells it: 128 and the signal, if there was one.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

fn up(folder: &Path, redis: bool) -> Result<ExitCode, ClusterError> {
    let was_up = Nodes::open(folder).is_ok_and(|nodes| nodes.pids().iter().all(|(_, pid)| pid.is_some()));
    let nodes = if was_up { Nodes::open(folder)? } else { Nodes::start_to_stay(folder)? };
    if redis && RedisServer::running(folder).is_none() {
        RedisServer::start_to_stay(folder)?;
    }
    if was_up {
        println!("The cluster is up already.");
    }
    describe(&nodes, folder);
    Ok(ExitCode::SUCCESS)
}

fn describe(nodes: &Nodes, folder: &Path) {
    println!();
    println!("Cassandra: {}", nodes.contact_points().join(", "));
    if let Some(redis) = RedisServer::running(folder) {
        println!("Redis:     {}", redis.url());
    }
    println!("State:     {} (tests use it with {CLUSTER_VARIABLE}={})", folder.display(), folder.display());
    println!();
    println!("Run Godwit on it:");
    println!("    godwit serve --store cassandra://{}/godwit", nodes.addresses().join(","));
}

fn down(folder: &Path, keep: bool) -> Result<ExitCode, ClusterError> {
    let nodes = Nodes::open(folder)?;
    nodes.stop_all()?;
    if let Some(redis) = RedisServer::running(folder) {
        redis.stop()?;
    }
    if keep {
        println!("Stopped. The data is kept in {}.", folder.display());
    } else {
        nodes.remove()?;
        println!("Stopped, and the data removed.");
    }
    Ok(ExitCode::SUCCESS)
}

fn status(folder: &Path) -> Result<ExitCode, ClusterError> {
    let nodes = Nodes::open(folder)?;
    for ((number, pid), address) in nodes.pids().into_iter().zip(nodes.contact_points()) {
        match pid {
            Some(pid) => println!("node {number}  {address}  running, pid {pid}"),
            None => println!("node {number}  {address}  STOPPED"),
        }
    }
    describe(&nodes, folder);
    Ok(ExitCode::SUCCESS)
}

impl Place {
    fn folder(self) -> Result<PathBuf, ClusterError> {
        self.dir.map_or_else(Nodes::usual_folder, Ok)
    }
}
