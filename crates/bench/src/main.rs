//! Measures Godwit, and refuses to call something a result that went wrong.
//!
//! - [`store`]: the stores by themselves, side by side
//! - [`fan_out`]: what a message costs that many get
//! - [`progress`], [`clock`], [`numbers`]: what every measurement needs
//!
//! Results go to stdout, everything else to stderr. An error is one line; it ends the process with 1.

mod clock;
mod fan_out;
mod numbers;
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
    FanOut(fan_out::Arguments),
    Store(store::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::FanOut(arguments) => fan_out::main(&arguments),
        Command::Store(arguments) => store::main(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
