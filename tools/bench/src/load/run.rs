//! The parts that scenarios share: the server, warm-up, measurement, result.

use std::io::{Write, stdout};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use godwit_bench::clock::SystemClock;
use godwit_domain::ports::Clock;
use tokio::runtime::{Builder, Runtime};

use super::check::Violations;
use super::report::Report;
use super::sessions::{Sessions, Watch};
use super::span::Span;
use super::traffic::Traffic;
use crate::messenger::Messenger;
use crate::messenger::godwit::Godwit;
use crate::messenger::stamp::STAMP_BYTES;
use crate::numbers::thousands;
use crate::progress::{self, Progress};
use crate::server::usage::{Disks, Sample, Usage};
use crate::server::{Server, Which};
use crate::wire::Net;

/// The update interval of the progress line while messages are in flight.
pub(super) const ROUND: Duration = Duration::from_millis(100);

/// The options of every scenario.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) which: Which,

    /// Duration of the measurement, in seconds
    #[arg(long, value_name = "N", default_value = "10", value_parser = seconds)]
    pub(crate) seconds: f64,

    /// Warm-up before the measurement, in seconds
    #[arg(long, value_name = "N", default_value = "3", value_parser = seconds)]
    pub(crate) warm_up: f64,

    /// Length of a message text, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 200, value_parser = text_bytes)]
    pub(crate) text_bytes: usize,

    /// Append the result to this file, as one line of JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    const SECONDS_MAX: f64 = 86_400.0;
    let seconds = text.parse().ok().filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds));
    seconds.ok_or_else(|| format!("must be a number of seconds up to {SECONDS_MAX}"))
}

/// Between the size of the stamp and the limit of the API.
pub(super) fn text_bytes(text: &str) -> Result<usize, String> {
    let max = godwit_protocol::limits::TEXT_CHARS_MAX;
    text.parse()
        .ok()
        .filter(|bytes| (STAMP_BYTES..=max).contains(bytes))
        .ok_or_else(|| format!("must be {STAMP_BYTES} to {max} bytes"))
}

/// Runs a scenario on its server, and prints the result.
pub(super) fn main(
    common: &Common,
    scenario: impl FnOnce(&mut Stage) -> anyhow::Result<Vec<Report>>,
) -> anyhow::Result<()> {
    for report in measure(common, Progress::to_stderr(), scenario)? {
        stdout().write_all(report.summary().as_bytes())?;
        if let Some(path) = &common.json {
            report.append_to(path, &SystemClock.now().to_string())?;
        }
    }
    Ok(())
}

pub(super) fn measure(
    common: &Common,
    progress: Progress,
    scenario: impl FnOnce(&mut Stage) -> anyhow::Result<Vec<Report>>,
) -> anyhow::Result<Vec<Report>> {
    let runtime = aside()?;
    let _on_runtime = runtime.enter();
    let server = common.which.start()?;
    if let Some(pid) = server.pid() {
        progress.note(&format!("the server is process {pid} at http://{}", server.address()));
    }
    let mut stage = Stage::new(server, progress, common, true);
    let outcome = scenario(&mut stage);
    match stage.server.last_words() {
        Some(words) => outcome.with_context(|| format!("the server says: {words}")),
        None => outcome,
    }
}

/// A runtime for tasks beside the measured thread: progress, and waiting for Ctrl-C.
pub(crate) fn aside() -> anyhow::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().context("cannot start the runtime")
}

/// The environment of a scenario.
pub(crate) struct Stage {
    pub(crate) server: Server,
    pub(super) progress: Progress,
    /// The duration of the measurement, and of the warm-up before it.
    pub(super) seconds: f64,
    pub(super) warm_up: f64,
    /// Whether a violation invalidates the result. Otherwise the result lists the violations.
    is_strict: bool,
}

impl Stage {
    pub(crate) const fn new(server: Server, progress: Progress, common: &Common, is_strict: bool) -> Self {
        Self { server, progress, seconds: common.seconds, warm_up: common.warm_up, is_strict }
    }

    /// Godwit, with this many new users.
    pub(crate) fn godwit(&self, users: u32) -> Godwit {
        let run = format!("{:x}", SystemClock.now().as_millis());
        Godwit::new(self.server.address(), self.server.key(), users as usize, run)
    }

    /// Signs users in, from 0 on.
    pub(crate) fn sign_in<M: Messenger>(&self, mut messenger: M, users: u32) -> anyhow::Result<Sessions<M>> {
        messenger.prepare(users)?;
        self.sign_in_again(messenger, users)
    }

    /// Signs in users who exist already.
    pub(crate) fn sign_in_again<M: Messenger>(
        &self,
        messenger: M,
        users: u32,
    ) -> anyhow::Result<Sessions<M>> {
        let mut sessions = Sessions::new(messenger, users as usize)?;
        let signing_in = self.step(format!("signing in {} users", thousands(users as usize)));
        sessions.sign_in(0..users, &signing_in.done())?;
        Ok(sessions)
    }

    pub(crate) fn step(&self, what: impl Into<String>) -> progress::Step {
        self.progress.step(what)
    }

    pub(super) fn sample(&self) -> anyhow::Result<Sample> {
        // The slow part comes first.
        let fsyncs = self.server.fsyncs()?;
        Ok(Sample {
            at: Instant::now(),
            server: self.server.pid().and_then(Usage::of),
            generator: Usage::of_this_program(),
            fsyncs,
            disks: Disks::now(),
        })
    }

    /// On a strict stage, a violation ends the run.
    pub(crate) fn judge(&self, violations: Violations) -> anyhow::Result<Violations> {
        if self.is_strict {
            violations.refuse()?;
        }
        Ok(violations)
    }

    /// Warms up, measures, and waits until no message is in flight. `load` processes incoming frames, and sends what is due.
    pub(super) fn drive<L: Load>(&self, load: &mut L) -> anyhow::Result<Spent> {
        let warming_up = self.step("warming up");
        load.begin()?;
        run_for(load, self.warm_up, &warming_up.done())?;
        drop(warming_up);

        let measuring = self.step(format!("measuring for {} s", self.seconds));
        let before = self.sample()?;
        let span = Span::since(load.net().now_ns());
        load.traffic().measure(span);
        run_for(load, self.seconds, &measuring.done())?;
        // Ends only after a first measurement, however long that takes.
        let mut watch = Watch::start(load.net());
        while !load.traffic().measured.has_latencies() {
            load.poll(watch.until_ns())?;
            watch.look(load.net(), false).context("measuring")?;
        }
        let span = span.ended(load.net().now_ns());
        load.traffic().measure(span);
        let after = self.sample()?;
        drop(measuring);

        let _finishing = self.step("waiting for messages in flight");
        load.stop();
        let mut watch = Watch::start(load.net());
        while load.traffic().under_way() > 0 {
            let under_way = load.traffic().under_way();
            load.poll(watch.until_ns())?;
            let moved = load.traffic().under_way() < under_way;
            if let Err(error) = watch.look(load.net(), moved) {
                // Missing messages are the better explanation.
                return match self.judge(load.traffic().finish()) {
                    Ok(Violations { missing: 0, unacknowledged: 0, .. }) => Err(error),
                    Ok(_) => Ok(Spent { seconds: span.seconds(), before, after }),
                    Err(missing) => Err(missing),
                };
            }
        }
        self.judge(load.traffic().finish())?;
        Ok(Spent { seconds: span.seconds(), before, after })
    }
}

/// The duration of a measurement, and the resource usage at its beginning and end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spent {
    pub(crate) seconds: f64,
    pub(super) before: Sample,
    pub(super) after: Sample,
}

pub(super) fn run_for<L: Load>(load: &mut L, seconds: f64, done: &progress::Done) -> anyhow::Result<()> {
    let end_ns = load.net().now_ns() + (seconds * 1e9) as u64;
    let mut told = load.traffic().ended();
    while load.net().now_ns() < end_ns {
        let round_ns = end_ns.min(load.net().now_ns() + ROUND.as_nanos() as u64);
        while load.net().now_ns() < round_ns {
            load.poll(round_ns)?;
        }
        let ended = load.traffic().ended();
        done.add((ended - told) as usize);
        told = ended;
    }
    Ok(())
}

/// The traffic of a scenario.
pub(super) trait Load {
    fn net(&mut self) -> &mut Net;
    fn traffic(&mut self) -> &mut Traffic;
    /// Sends the first messages.
    fn begin(&mut self) -> anyhow::Result<()>;
    /// Sends and receives, until something has happened or the time is over.
    fn poll(&mut self, until_ns: u64) -> anyhow::Result<()>;
    /// Stops sending.
    fn stop(&mut self);
}
