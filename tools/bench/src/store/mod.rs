//! `godwit-bench store`: the same scenarios on each store, side by side.
//!
//! - [`location`]: the stores; the only file that names them
//! - [`plan`], [`stage`], [`chat`]: the sizes; the initial data; the written data
//! - [`append`], [`read`]: the scenarios; [`run`] runs them in order
//! - [`verify`]: reads all written data and checks it
//! - [`report`]: the results, as a table and as JSON

mod append;
mod chat;
mod location;
mod plan;
mod read;
mod report;
mod run;
mod stage;
#[cfg(test)]
mod tests;
mod verify;

use std::fs;
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use tokio::runtime::Runtime;

use crate::progress::Progress;
use location::Location;
use plan::Plan;
use report::Report;

/// Measure stores without a server, side by side: appends, pages, look-ups
///
/// Reads all written data again and checks it. If anything is missing, duplicated or changed, no numbers are printed, and the
/// exit status is 1.
///
/// The written data is not removed: use a separate folder or keyspace.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// embedded:DIR, or cassandra://HOST,…/KEYSPACE; repeatable [default: embedded, in a temporary folder]
    ///
    /// Ratios are relative to the first store.
    #[arg(long = "store", value_name = "URL")]
    stores: Vec<Location>,

    /// Duration of each scenario, in seconds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,

    /// Also write the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    let temporary = tempfile::tempdir().context("cannot create a temporary folder")?;
    let stores = match &*arguments.stores {
        [] => vec![Location::Embedded(temporary.path().to_owned())],
        given => given.to_vec(),
    };
    let plan = Plan::new(Duration::from_secs(arguments.seconds));
    let runtime = Runtime::new().context("cannot start the runtime")?;
    let report = runtime.block_on(measure(&stores, &plan, Progress::to_stderr()))?;
    stdout().write_all(report.table().as_bytes())?;
    if let Some(path) = &arguments.json {
        let text = format!("{:#}\n", report.json(&plan));
        fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

async fn measure(stores: &[Location], plan: &Plan, progress: Progress) -> anyhow::Result<Report> {
    let mut report = Report::default();
    for location in stores {
        let label = report.label(location);
        let outcomes = run::run(location, &label, plan, progress).await;
        report.add(location, label, outcomes.with_context(|| location.to_string())?);
    }
    Ok(report)
}
