//! Measures Godwit, and refuses to call something a result that went wrong.
//!
//! - [`store`]: the stores by themselves, side by side
//! - [`progress`], [`clock`]: what every measurement needs
//!
//! Results go to stdout, everything else to stderr. An error is one line; it ends the process with 1.

mod clock;
mod progress;
mod store;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "godwit-bench", version, about = "Measures Godwit", arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Store(store::Arguments),
}

fn main() -> ExitCode {
    let Command::Store(arguments) = Cli::parse().command;
    match store::main(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
