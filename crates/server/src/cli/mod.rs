//! The command line.
//!
//! Results go to stdout, everything else to stderr. An error is one line, `error: …`, that says how to fix it. The exit code
//! is 1 for an error and 2 for a wrong command line.

mod args;
mod cluster;
mod config;
mod demo;
mod operator;
mod password;
mod schema;
mod serve;
mod transfer;
mod user;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory, Parser};
use tokio::runtime::{Builder, Runtime};

pub use args::Cli;

use args::{ClusterCommand, Command, ConfigCommand};

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has closed the pipe.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            for line in format!("{error:#}").lines() {
                // Without stderr there is nowhere to report.
                let _ = writeln!(io::stderr(), "error: {line}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    let Cli { settings, command } = cli;
    match command {
        Command::Serve(flags) => serve::run(settings.load(Some(&flags))?),
        Command::User(command) => one_thread()?.block_on(user::run(&settings.load(None)?, command)),
        Command::Schema(command) => one_thread()?.block_on(schema::run(&settings.load(None)?, command)),
        Command::Cluster(ClusterCommand::Status { flags, json }) => {
            one_thread()?.block_on(cluster::status(&settings.load(Some(&flags))?, json))
        }
        Command::Demo => one_thread()?.block_on(demo::run(&settings.load(None)?)),
        Command::Transfer(flags) => one_thread()?.block_on(transfer::run(&settings.load(None)?, flags)),
        Command::Config(ConfigCommand::Print(flags)) => config::print(&settings.load(Some(&flags))?),
        Command::Config(ConfigCommand::Check(flags)) => config::check(&settings.load(Some(&flags))?),
        Command::Completions { shell } => completions(shell),
    }
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "godwit", &mut script);
    Ok(io::stdout().write_all(&script)?)
}

fn one_thread() -> anyhow::Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("cannot start the runtime")
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
