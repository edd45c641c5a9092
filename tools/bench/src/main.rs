//! Measures Godwit, and accepts no result from a run with violations.
//!
//! - [`load`]: load on a real server, through its WebSocket and HTTP API
//! - [`messenger`], [`wire`], [`server`]: the protocols, the connections, and the server process
//! - [`peers`]: the same load on other messengers; [`relay`]: a server that only relays messages
//! - [`plot`]: results as pictures
//! - [`store`]: the stores alone, side by side
//! - [`fan_out`]: the cost of a message to a group
//! - [`figures`], [`progress`], [`numbers`]: shared by all measurements
//!
//! Results go to stdout, everything else to stderr. An error is one line and ends the process with 1.

mod fan_out;
mod figures;
mod load;
mod messenger;
mod numbers;
mod peers;
mod plot;
mod progress;
mod relay;
mod server;
mod store;
mod wire;

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
    Pairs(load::pairs::Arguments),
    Rate(load::rate::Arguments),
    Group(load::group::Arguments),
    Idle(load::idle::Arguments),
    History(load::history::Arguments),
    Inbox(load::inbox::Arguments),
    Resume(load::resume::Arguments),
    Mixed(load::mixed::Arguments),
    Growth(load::growth::Arguments),
    Peers(peers::Arguments),
    #[command(hide = true)]
    Relay(relay::Arguments),
    Plot(plot::Arguments),
    FanOut(fan_out::Arguments),
    Store(store::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Pairs(arguments) => load::pairs::main(&arguments),
        Command::Rate(arguments) => load::rate::main(&arguments),
        Command::Group(arguments) => load::group::main(&arguments),
        Command::Idle(arguments) => load::idle::main(&arguments),
        Command::History(arguments) => load::history::main(&arguments),
        Command::Inbox(arguments) => load::inbox::main(&arguments),
        Command::Resume(arguments) => load::resume::main(&arguments),
        Command::Mixed(arguments) => load::mixed::main(&arguments),
        Command::Growth(arguments) => load::growth::main(&arguments),
        Command::Peers(arguments) => peers::main(&arguments),
        Command::Relay(arguments) => relay::main(&arguments),
        Command::Plot(arguments) => plot::main(&arguments),
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
