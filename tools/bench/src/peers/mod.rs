//! `godwit-bench peers`: the same load on Godwit and on other messengers, one after the other on this machine.
//!
//! - [`kind`]: the messengers, and the location of their programs
//! - [`setup`]: their configuration and start
//! - [`measure`]: the measurements; [`durable`]: the durability test
//! - [`rows`]: the compared figures and the goals; [`table`]: the comparison, as text and as JSON
//!
//! One messenger runs at a time, each round starts with fresh folders, and medians are compared. Violations of a peer are
//! shown beside its figures; Godwit gets no figure then.

mod durable;
mod kind;
mod measure;
mod rows;
mod setup;
mod table;

use std::io::{Write as _, stdout};
use std::path::PathBuf;

use clap::Args;
use godwit_bench::clock::SystemClock;
use godwit_domain::ports::Clock as _;

use self::kind::{Kind, Programs};
use self::measure::{Plan, Scenario};
use self::table::Table;
use crate::load::run::{aside, seconds};
use crate::numbers::thousands;
use crate::progress::Progress;
use crate::server::DATA_DEFAULT;
use crate::wire::files::connections_possible;

/// Compare Godwit with other messengers on this machine
///
/// Installs nothing: a messenger that is not found is named with a way to install it, and the others are measured. Each one is
/// started in a fresh folder on free ports, checked for durability, measured and stopped.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Measure only these messengers
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',', default_values_t = Kind::ALL)]
    only: Vec<Kind>,

    /// Measure only these scenarios. Short rounds reduce the influence of changing load on the machine
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',', default_values_t = Scenario::ALL)]
    scenario: Vec<Scenario>,

    /// Duration of each scenario, in seconds
    #[arg(long, value_name = "N", default_value = "10", value_parser = seconds)]
    seconds: f64,

    /// Number of rounds; the results are medians
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,

    /// Number of idle connections, reduced to the limit of open files if necessary
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,

    /// Quick check that everything works, with smaller sizes; the figures mean little
    #[arg(long)]
    quick: bool,

    /// Append all results to this file, one line of JSON each, and the comparison as the last one
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Folder for temporary folders, which must be on a real disk
    #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT)]
    data: PathBuf,

    #[command(flatten)]
    programs: Programs,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    let runtime = aside()?;
    let _on_runtime = runtime.enter();
    let progress = Progress::to_stderr();
    let scenarios = arguments.scenario.clone();
    let mut plan = if arguments.quick {
        Plan::quick(scenarios)
    } else {
        Plan::new(scenarios, arguments.seconds, arguments.connections)
    };
    let possible = connections_possible(plan.idle_connections);
    let mut table = Table::new(&arguments.only, &arguments.scenario);
    if possible < plan.idle_connections {
        table.note(format!(
            "{} idle connections instead of {}, because of the limit of open files (ulimit -n)",
            thousands(possible as usize),
            thousands(plan.idle_connections as usize)
        ));
        plan.idle_connections = possible;
    }
    for round in 1..=arguments.rounds {
        for kind in &arguments.only {
            progress.note(&format!("{} (round {round} of {})", kind.title(), arguments.rounds));
            match setup::measure(*kind, &arguments.programs, &arguments.data, &plan, progress) {
                Ok(outcomes) => {
                    for outcome in outcomes {
                        if let (Some(path), Ok(report)) = (&arguments.json, &outcome.result) {
                            report.append_to(path, &SystemClock.now().to_string())?;
                        }
                        table.add(*kind, outcome);
                    }
                }
                Err(error) => {
                    progress.note(&format!("{}: {error:#}", kind.title()));
                    table.absent(*kind, &format!("{error:#}"));
                }
            }
        }
    }
    stdout().write_all(table.shown().as_bytes())?;
    match &arguments.json {
        Some(path) => table.append_to(path, &SystemClock.now().to_string()),
        None => Ok(()),
    }
}
