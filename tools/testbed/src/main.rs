//! Runs three Cassandra nodes on this machine: around one command (`exec`, for tests), or permanently (`up`,
//! for development).

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};

use clap::{Parser, Subcommand};
use godwit_testbed::{FOLDER_VARIABLE, Nodes, Owned, RedisServer, TestbedError, fetch_cassandra};
use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};

/// The exit status when the command was not run because Cassandra is not available here.
const SKIPPED: u8 = 77;

/// Starts and stops a local three-node Cassandra.
#[derive(Parser)]
#[command(name = "godwit-testbed", version)]
struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Run a command on three Cassandra nodes, and stop them when the command has ended
    ///
    /// The command finds the nodes through GODWIT_TEST_CASSANDRA_FOLDER. The exit status is that of the command.
    /// If Cassandra is not available, the command is not run, and the exit status is 77, or 1 if CI is set.
    Exec {
        /// If the command was not run, write the reason to this file
        #[arg(long, value_name = "FILE")]
        reason: Option<PathBuf>,
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Fetch Cassandra in advance, unless it is in the cache
    Fetch,
    /// Start three nodes and leave them running
    Up {
        #[command(flatten)]
        state: StateFolder,
        /// Also start Redis
        #[arg(long)]
        redis: bool,
    },
    /// Stop the processes that `up` has started, and remove their data
    Down {
        #[command(flatten)]
        state: StateFolder,
        /// Keep the data, so that `up` continues with it
        #[arg(long)]
        keep: bool,
    },
    /// Show the running processes
    Status {
        #[command(flatten)]
        state: StateFolder,
    },
}

#[derive(clap::Args)]
struct StateFolder {
    /// The state folder of the Cassandra cluster [default: dev-cassandra in the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().action {
        Action::Exec { reason, command } => return exec(&command, reason.as_deref()),
        Action::Fetch => fetch_cassandra().map(|()| ExitCode::SUCCESS),
        Action::Up { state, redis } => state.folder().and_then(|folder| up(&folder, redis)),
        Action::Down { state, keep } => state.folder().and_then(|folder| down(&folder, keep)),
        Action::Status { state } => state.folder().and_then(|folder| status(&folder)),
    };
    done.unwrap_or_else(|error| {
        eprintln!("godwit-testbed: {error}");
        ExitCode::FAILURE
    })
}

fn exec(command: &[OsString], reason: Option<&Path>) -> ExitCode {
    match Owned::start() {
        Ok(cluster) => run(command, cluster.nodes().folder()).unwrap_or_else(|error| {
            eprintln!("godwit-testbed: cannot run {}: {error}", command[0].display());
            ExitCode::FAILURE
        }),
        Err(error) => refuse(&error, reason),
    }
}

fn refuse(error: &TestbedError, reason: Option<&Path>) -> ExitCode {
    let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    eprintln!("\ngodwit-testbed: CASSANDRA IS NOT AVAILABLE, so the command was not run: {error}\n");
    if let Some(Err(error)) = reason.map(|file| std::fs::write(file, error.to_string())) {
        eprintln!("godwit-testbed: cannot write the reason: {error}");
    }
    if error.is_absence() && !in_ci { ExitCode::from(SKIPPED) } else { ExitCode::FAILURE }
}

/// Passes signals to the command. The nodes run until it has ended.
#[tokio::main(flavor = "current_thread")]
async fn run(command: &[OsString], folder: &Path) -> io::Result<ExitCode> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let child = Command::new(&command[0]).args(&command[1..]).env(FOLDER_VARIABLE, folder).spawn()?;
    let pid = Pid::from_child(&child);
    let mut ended = tokio::task::spawn_blocking(move || wait(child));
    loop {
        tokio::select! {
            status = &mut ended => return Ok(exit_code(status??)),
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
        // The command may just have ended.
        let _ = kill_process(pid, Signal::TERM);
    }
}

fn wait(mut child: Child) -> io::Result<ExitStatus> {
    child.wait()
}

/// As a shell reports it: 128 plus the signal, if there was one.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

fn up(folder: &Path, redis: bool) -> Result<ExitCode, TestbedError> {
    let was_up = Nodes::open(folder).is_ok_and(|nodes| nodes.pids().iter().all(|(_, pid)| pid.is_some()));
    let nodes = if was_up { Nodes::open(folder)? } else { Nodes::start_to_stay(folder)? };
    if redis && RedisServer::running(folder).is_none() {
        RedisServer::start_to_stay(folder)?;
    }
    if was_up {
        println!("Cassandra is already running.");
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
    println!("State:     {} (tests use it with {FOLDER_VARIABLE}={})", folder.display(), folder.display());
    println!();
    println!("Run Godwit on it:");
    println!("    godwit serve --store cassandra://{}/godwit", nodes.addresses().join(","));
}

fn down(folder: &Path, keep: bool) -> Result<ExitCode, TestbedError> {
    let nodes = Nodes::open(folder)?;
    nodes.stop_all()?;
    if let Some(redis) = RedisServer::running(folder) {
        redis.stop()?;
    }
    if keep {
        println!("Stopped. The data is kept in {}.", folder.display());
    } else {
        nodes.remove()?;
        println!("Stopped, and removed the data.");
    }
    Ok(ExitCode::SUCCESS)
}

fn status(folder: &Path) -> Result<ExitCode, TestbedError> {
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

impl StateFolder {
    fn folder(self) -> Result<PathBuf, TestbedError> {
        self.dir.map_or_else(Nodes::usual_folder, Ok)
    }
}
