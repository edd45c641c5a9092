//! `godwit-bench growth`: costs as the amount of data grows.
//!
//! - [`history`], [`conversations`], [`users`], [`connections`]: the dimensions of growth, each on its own server
//! - [`stalls`]: sends during flushes and compactions
//! - [`crash`]: the size on disk, and recovery after a crash
//! - [`world`]: the users and conversations; [`probe`]: the measurements at each step
//! - [`table`]: the steps side by side
//!
//! A cost is the server's CPU time per operation, and the median latency. Throughput would depend more on the other load of
//! the machine.

mod connections;
mod conversations;
mod crash;
mod history;
mod probe;
mod stalls;
mod table;
mod users;
mod world;

use std::io::{Write as _, stdout};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use godwit_bench::clock::SystemClock;
use godwit_domain::ports::Clock as _;
use serde_json::json;

use super::report::Report;
use super::run::{self, Common, Stage, seconds, text_bytes};
use crate::figures::Value;
use crate::numbers::thousands;
use crate::progress::Progress;
use crate::server::Which;
use crate::wire::files::connections_possible;

/// Measure costs as the amount of data grows
///
/// Measures a send at a fixed rate, a page of history, a list of conversations and a returning client at each step, and
/// compares the last step with the first. Checks all received messages, as the other scenarios do.
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Run only these parts
    #[arg(long, value_name = "PART", value_enum, value_delimiter = ',', default_values_t = Part::ALL)]
    part: Vec<Part>,

    /// Numbers of messages in the store
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000, 1_000_000, 10_000_000], value_parser = clap::value_parser!(u32).range(1_000..=1_000_000_000))]
    messages: Vec<u32>,

    /// Numbers of conversations of one user
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [10, 100, 1_000, 10_000], value_parser = clap::value_parser!(u32).range(10..=100_000))]
    conversations: Vec<u32>,

    /// Numbers of users
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000, 1_000_000], value_parser = clap::value_parser!(u32).range(i64::from(users::BATCH)..=100_000_000))]
    users: Vec<u32>,

    /// Numbers of connections
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [100, 1_000, 10_000, 50_000], value_parser = clap::value_parser!(u32).range(40..=1_000_000))]
    connections: Vec<u32>,

    /// Messages per second while the cost of a send is measured
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rate: u64,

    /// Seconds without messages before a user with many conversations returns. A sync repeats changes from the minute before the
    /// previous sync
    #[arg(long, value_name = "N", default_value = "61", value_parser = seconds)]
    rest: f64,

    #[command(flatten)]
    which: Which,

    /// Duration of each measurement, in seconds [default: 3, and 20 for stalls]
    #[arg(long, value_name = "N", value_parser = seconds)]
    seconds: Option<f64>,

    /// Warm-up before each measurement, in seconds
    #[arg(long, value_name = "N", default_value = "1", value_parser = seconds)]
    warm_up: f64,

    /// Length of a message text, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 200, value_parser = text_bytes)]
    text_bytes: usize,

    /// Append the results to this file, one line of JSON each
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    History,
    Conversations,
    Users,
    Connections,
    Stalls,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    let progress = Progress::to_stderr();
    for part in &arguments.part {
        let common = arguments.common(*part);
        // Raised before the server starts, which inherits the limit.
        let arguments = arguments.with_possible_connections(*part, progress);
        let reports = run::measure(&common, progress, |stage| arguments.measure(*part, stage))?;
        stdout().write_all(table::shown(&reports).as_bytes())?;
        if let Some(path) = &common.json {
            let date = SystemClock.now().to_string();
            reports.iter().try_for_each(|report| report.append_to(path, &date))?;
        }
    }
    Ok(())
}

impl Arguments {
    pub(super) fn measure(&self, part: Part, stage: &mut Stage) -> anyhow::Result<Vec<Report>> {
        match part {
            Part::History => history::measure(self, stage),
            Part::Conversations => conversations::measure(self, stage),
            Part::Users => users::measure(self, stage),
            Part::Connections => connections::measure(self, stage),
            Part::Stalls => stalls::measure(self, stage),
        }
    }

    fn common(&self, part: Part) -> Common {
        let mut which = self.which.clone();
        if part == Part::Connections {
            // Heartbeats come in bursts, and `idle` measures them. A setting of the caller comes later and takes precedence.
            which.set.insert(0, "socket.heartbeat_ms=3600000".to_owned());
        }
        Common {
            which,
            seconds: self.seconds.unwrap_or(if part == Part::Stalls { 20.0 } else { 3.0 }),
            warm_up: self.warm_up,
            text_bytes: self.text_bytes,
            json: self.json.clone(),
        }
    }

    /// Reduces the number of connections to the possible one.
    fn with_possible_connections(&self, part: Part, progress: Progress) -> Self {
        let mut arguments = self.clone();
        let most = self.connections.iter().copied().max().unwrap_or(0);
        if part == Part::Connections {
            let possible = connections_possible(most);
            if possible < most {
                let possible = thousands(possible as usize);
                progress.note(&format!("{possible} connections at most, because of ulimit -n"));
            }
            arguments.connections.iter_mut().for_each(|count| *count = possible.min(*count));
            arguments.connections.dedup();
        }
        arguments
    }

    /// The result of one step with this count of the growing thing.
    fn report(&self, scenario: &'static str, size: &str, count: u32, stage: &Stage) -> Report {
        let parameters = json!({
            size: count,
            "rate": self.rate,
            "text_bytes": self.text_bytes,
            "seconds": stage.seconds,
        });
        let mut report = Report::new(scenario, "godwit", parameters);
        report.add(size, Value::Number(f64::from(count)));
        report
    }
}

impl Part {
    pub(super) const ALL: [Self; 5] =
        [Self::History, Self::Conversations, Self::Users, Self::Connections, Self::Stalls];
}
