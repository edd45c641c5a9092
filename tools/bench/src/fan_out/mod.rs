//! `godwit-bench fan-out`: the cost of a message in groups of different sizes.
//!
//! - [`listeners`]: the sockets of online members, each checked for order, gaps and duplicates
//!
//! No network is involved, so this measures only the server's part: until the writer of the last socket has taken the frame
//! from its queue.

mod listeners;
#[cfg(test)]
mod tests;

use std::io::{Write, stdout};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use hdrhistogram::Histogram;
use tokio::runtime::Runtime;

use godwit_bench::world::World;

use crate::numbers::{shown_time, thousands};
use crate::progress::Progress;
use listeners::Listeners;

/// Measure the cost of a message in groups of different sizes
///
/// Creates members, of whom some are online, and sends messages from one of them. Every socket checks what it receives: if a
/// message is missing, duplicated or out of order, no numbers are printed, and the exit status is 1.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Number of members per group
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [10, 100, 499, 501, 10_000, 100_000])]
    members: Vec<usize>,

    /// Maximum number of online members
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    online: usize,

    /// Number of messages to each group, sent one after the other
    #[arg(long, value_name = "N", default_value_t = 500)]
    messages: usize,
}

/// The result for one group.
#[derive(Debug)]
struct Outcome {
    members: usize,
    online: usize,
    joined_per_second: f64,
    acknowledged: Histogram<u64>,
    /// Until the last online member has the message.
    arrived: Histogram<u64>,
    rows_per_message: f64,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    let runtime = Runtime::new().context("cannot start the runtime")?;
    let outcomes = runtime.block_on(measure(arguments, Progress::to_stderr()))?;
    stdout().write_all(table(&outcomes).as_bytes())?;
    Ok(())
}

async fn measure(arguments: &Arguments, progress: Progress) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for members in &arguments.members {
        let outcome = measure_group(*members, arguments, progress).await;
        outcomes.push(outcome.with_context(|| format!("a group of {}", thousands(*members)))?);
    }
    Ok(outcomes)
}

async fn measure_group(members: usize, arguments: &Arguments, progress: Progress) -> anyhow::Result<Outcome> {
    anyhow::ensure!(members >= 2, "a group needs at least two members");
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let world = World::open(folder.path())?;
    let making = progress.step(format!("{} members: creating them", thousands(members)));
    let began = Instant::now();
    let (group, users) = world.make_group(members, |some| making.done().add(some)).await?;
    let joined_per_second = members as f64 / began.elapsed().as_secs_f64();
    drop(making);
    // Spread over all members, so that online members are not adjacent in the store.
    let online = arguments.online.min(members);
    let listeners = Listeners::start(&world, users.iter().step_by(members / online).take(online)).await?;
    let sending = progress.step(format!("{} members: sending", thousands(members)));
    let (mut acknowledged, mut arrived) = (histogram(), histogram());
    let rows_before = world.rows_written();
    for number in 0..arguments.messages {
        let began = Instant::now();
        world.send(users[0], group, number).await?;
        record(&mut acknowledged, began.elapsed());
        listeners.all_have(number + 1).await?;
        record(&mut arrived, began.elapsed());
        sending.done().add(1);
    }
    let rows = world.rows_written() - rows_before;
    listeners.check(arguments.messages)?;
    world.check(users[0], group, arguments.messages).await?;
    world.close().await?;
    let rows_per_message = rows as f64 / arguments.messages.max(1) as f64;
    Ok(Outcome { members, online, joined_per_second, acknowledged, arrived, rows_per_message })
}

fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are allowed")
}

fn record(histogram: &mut Histogram<u64>, took: Duration) {
    let recorded = histogram.record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    recorded.expect("a histogram that grows takes every value");
}

fn table(outcomes: &[Outcome]) -> String {
    let mut table = format!(
        "{:>9} {:>8} {:>11} {:>11} {:>11} {:>14} {:>14} {:>13}\n",
        "members", "online", "joined/s", "ack p50", "ack p99", "last one p50", "last one p99", "rows/message"
    );
    for outcome in outcomes {
        let at = |histogram: &Histogram<u64>, quantile| {
            shown_time(Duration::from_nanos(histogram.value_at_quantile(quantile)))
        };
        table.push_str(&format!(
            "{:>9} {:>8} {:>11} {:>11} {:>11} {:>14} {:>14} {:>13.1}\n",
            thousands(outcome.members),
            thousands(outcome.online),
            thousands(outcome.joined_per_second as usize),
            at(&outcome.acknowledged, 0.5),
            at(&outcome.acknowledged, 0.99),
            at(&outcome.arrived, 0.5),
            at(&outcome.arrived, 0.99),
            outcome.rows_per_message
        ));
    }
    table
}
