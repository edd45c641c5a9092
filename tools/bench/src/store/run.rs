//! One store, from its first opening to its last closing.

use std::time::{Duration, Instant};

use super::append;
use super::location::{Location, Opened};
use super::plan::Plan;
use super::read::Reads;
use super::stage::Stage;
use super::verify;
use crate::figures::{Figure, Outcome, Value};
use crate::progress::{Progress, Step};

/// Runs all scenarios on one store. Fails if any written data is missing.
pub(super) async fn run(
    location: &Location,
    label: &str,
    plan: &Plan,
    progress: Progress,
) -> anyhow::Result<Vec<Outcome>> {
    let step = |what: &str| progress.step(format!("{label}: {what}"));
    let opened = open(location, step("opening")).await?;
    let table_bytes_before = opened.work().table_bytes;
    let mut stage =
        Stage::set(&*opened.port(), plan, step("creating users, conversations and a history")).await?;
    let mut outcomes = Vec::new();
    for ((_, batch), chats) in plan.appends.iter().zip(&mut stage.appends) {
        outcomes.push(append::measure(&opened, chats, *batch, plan.time, &step).await?);
    }
    // The restart empties the caches, so that later reads do not find recent writes in memory.
    let (opened, mut figures) = restart(opened, location, step("starting again")).await?;
    if let (Some(before), Some(after)) = (table_bytes_before, opened.work().table_bytes) {
        let bytes = after.saturating_sub(before) as f64 / stage.messages() as f64;
        figures.push(Figure::new("bytes per message", Value::Bytes(bytes)));
    }
    outcomes.extend(
        Reads { opened: &opened, store: &*opened.port(), plan, step: &step }.measure_all(&stage).await?,
    );
    outcomes.push(Outcome { scenario: "starting, stopping, disk".into(), figures });
    verify::logs(&*opened.port(), &stage.chats(), step("reading everything again")).await?;
    opened.close().await?;
    Ok(outcomes)
}

async fn open(location: &Location, _step: Step) -> anyhow::Result<Opened> {
    location.open().await
}

/// Closes and opens the store. A store for which a kill makes a difference is killed first.
async fn restart(opened: Opened, location: &Location, _step: Step) -> anyhow::Result<(Opened, Vec<Figure>)> {
    let mut figures = Vec::new();
    let opened = match opened.kill() {
        Err(opened) => opened,
        Ok(()) => {
            let (opened, took) = timed(location.open()).await?;
            figures.push(Figure::new("start after a kill", Value::Time(took)));
            opened
        }
    };
    let ((), took) = timed(opened.close()).await?;
    figures.push(Figure::new("stop", Value::Time(took)));
    let (opened, took) = timed(location.open()).await?;
    figures.push(Figure::new("start", Value::Time(took)));
    Ok((opened, figures))
}

async fn timed<T>(what: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<(T, Duration)> {
    let began = Instant::now();
    Ok((what.await?, began.elapsed()))
}
