//! The results, as text and as JSON.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Map, Value as Json, json};

use super::check::Violations;
use super::run::Spent;
use crate::figures::{Latencies, Value};
use crate::numbers::{shown_time, thousands, three_digits};
use crate::server::machine;

const NAME_WIDTH: usize = 36;
const VALUE_WIDTH: usize = 14;
const KIB: f64 = 1_024.0;

/// The result of one run.
#[derive(Debug)]
pub(crate) struct Report {
    scenario: &'static str,
    messenger: &'static str,
    /// Including the command-line parameters.
    parameters: Json,
    figures: Vec<(String, Value)>,
    wrong: Vec<String>,
}

impl Report {
    pub(crate) const fn new(scenario: &'static str, messenger: &'static str, parameters: Json) -> Self {
        Self { scenario, messenger, parameters, figures: Vec::new(), wrong: Vec::new() }
    }

    pub(crate) fn add(&mut self, name: impl Into<String>, value: Value) {
        self.figures.push((name.into(), value));
    }

    /// The percentiles that the number of calls supports.
    pub(super) fn add_latencies(&mut self, name: &str, latencies: &Latencies) {
        for (percentile, time) in latencies.percentiles() {
            self.add(format!("{name} {percentile}"), Value::Time(time));
        }
    }

    /// A count as a rate over the measured time.
    pub(super) fn add_rate(&mut self, name: &str, count: u64, spent: &Spent) {
        self.add(name, Value::PerSecond(count as f64 / spent.seconds));
    }

    /// The resources used, in total and per operation.
    pub(super) fn add_usage(&mut self, what: &str, spent: &Spent, count: u64) {
        let Spent { before, after, .. } = spent;
        let seconds = (after.at - before.at).as_secs_f64();
        let each = |amount: f64| amount / (count.max(1) as f64);
        if let (Some(before), Some(after)) = (before.server, after.server) {
            let cpu = after.cpu_seconds - before.cpu_seconds;
            self.add("server CPU", Value::Share(cpu / seconds));
            self.add(
                format!("server CPU a {what}"),
                Value::Time(Duration::from_secs_f64(each(cpu.max(0.0)))),
            );
            self.add("server memory", Value::Bytes(after.resident_bytes as f64));
        }
        if let (Some(before), Some(after)) = (before.fsyncs, after.fsyncs) {
            let fsyncs = after.saturating_sub(before) as f64;
            self.add("fsyncs/s", Value::PerSecond(fsyncs / seconds));
            self.add(format!("fsyncs a {what}"), Value::Number(each(fsyncs)));
        }
        let written = after.disks.written_bytes.saturating_sub(before.disks.written_bytes) as f64;
        self.add(format!("written a {what}"), Value::Bytes(each(written)));
        let flushes = after.disks.flushes.saturating_sub(before.disks.flushes) as f64;
        self.add(format!("disk flushes a {what}"), Value::Number(each(flushes)));
        let generator = after.generator.cpu_seconds - before.generator.cpu_seconds;
        self.add("generator CPU", Value::Share(generator / seconds));
        self.add("generator memory", Value::Bytes(after.generator.resident_bytes as f64));
    }

    /// The violations, for a result that is valid despite them.
    pub(super) fn add_violations(&mut self, violations: Violations) {
        for (count, what) in violations.found() {
            self.add(what, Value::Number(count as f64));
            self.wrong.push(format!("{} {what}", thousands(count as usize)));
        }
    }

    pub(crate) fn wrong(&self) -> &[String] {
        &self.wrong
    }

    /// A figure by name.
    pub(crate) fn figure(&self, name: &str) -> Option<Value> {
        self.figures.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    pub(super) const fn scenario(&self) -> &'static str {
        self.scenario
    }

    /// All figures, in the order in which they were added.
    pub(super) fn figures(&self) -> &[(String, Value)] {
        &self.figures
    }

    pub(crate) fn summary(&self) -> String {
        let mut text = format!("{} on {}\n", self.scenario, self.messenger);
        for (name, value) in &self.figures {
            let _ = writeln!(text, "  {name:<NAME_WIDTH$}{:>VALUE_WIDTH$}", shown(*value));
        }
        text
    }

    /// One object; names end with the unit.
    pub(crate) fn json(&self, date: &str) -> Json {
        let key = |name: &str, value: Value| match value {
            Value::PerSecond(_) => name.replace('/', "_per_").replace(' ', "_"),
            _ => [name, value.unit()].join(" ").trim_end().replace(' ', "_").replace('.', ""),
        };
        let figures: Map<String, Json> =
            self.figures.iter().map(|(name, value)| (key(name, *value), json!(value.number()))).collect();
        json!({
            "scenario": self.scenario,
            "messenger": self.messenger,
            "version": env!("CARGO_PKG_VERSION"),
            "date": date,
            "machine": machine::describe(),
            "parameters": self.parameters,
            "figures": figures,
        })
    }

    /// Appends the result to a file, on its own line.
    pub(crate) fn append_to(&self, path: &Path, date: &str) -> anyhow::Result<()> {
        let wrong = || format!("{} cannot be written", path.display());
        let mut file = OpenOptions::new().create(true).append(true).open(path).with_context(wrong)?;
        writeln!(file, "{}", self.json(date)).with_context(wrong)
    }
}

pub(super) fn shown(value: Value) -> String {
    match value {
        Value::PerSecond(number) => thousands(number.round() as usize),
        Value::Bytes(bytes) if bytes >= KIB * KIB => format!("{} MiB", three_digits(bytes / KIB / KIB)),
        Value::Bytes(bytes) if bytes >= 10.0 * KIB => format!("{} KiB", three_digits(bytes / KIB)),
        Value::Bytes(bytes) => format!("{} B", three_digits(bytes)),
        Value::Number(number) => three_digits(number),
        Value::Share(share) => format!("{:.0} %", share * 100.0),
        Value::Time(time) => shown_time(time),
    }
}
