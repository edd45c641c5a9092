//! `godwit-bench group`: messages to groups.

use clap::Args;
use serde_json::json;

use super::closed_loop::ClosedLoop;
use super::report::Report;
use super::run::{self, Common, Load, Stage};
use super::traffic::Traffic;
use crate::figures::Value;
use crate::messenger::Messenger;

/// Measure messages to groups: deliveries per second, and the latency until the last member has a message
///
/// One member of each group sends, and all members are online. The next message is sent when the previous one is acknowledged
/// and delivered to all.
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Members per group; one run per value
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [100, 1_000], value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) members: Vec<u32>,

    /// Number of groups
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) groups: u32,

    /// Messages in flight per group
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) window: u32,

    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    run::main(&arguments.common, |stage| arguments.measure(stage))
}

impl Arguments {
    pub(super) fn measure(&self, stage: &Stage) -> anyhow::Result<Vec<Report>> {
        let on_godwit = |size: &u32| self.measure_size(stage, stage.godwit(size * self.groups), *size);
        self.members.iter().map(on_godwit).collect()
    }

    pub(crate) fn measure_size<M: Messenger>(
        &self,
        stage: &Stage,
        messenger: M,
        size: u32,
    ) -> anyhow::Result<Report> {
        let mut sessions = stage.sign_in(messenger, size * self.groups)?;
        let groups: Vec<Vec<u32>> =
            (0..self.groups).map(|group| (group * size..(group + 1) * size).collect()).collect();
        let making = stage.step(format!("creating groups of {size}"));
        let conversations = sessions.make_conversations(&groups)?;
        drop(making);
        let mut traffic = Traffic::new(self.common.text_bytes);
        let streams = conversations.into_iter().zip(&groups).flat_map(|(conversation, members)| {
            traffic.add_conversation(conversation, members, &members[..1], self.window as usize)
        });
        let streams = streams.collect();
        let mut report = Report::new("group", sessions.messenger.name(), self.parameters(size));
        let mut load = ClosedLoop::new(sessions, traffic, streams);
        let spent = stage.drive(&mut load)?;

        let violations = load.traffic().finish();
        let measured = &load.traffic().measured;
        report.add("members", Value::Number(f64::from(size)));
        report.add_rate("sends/s", measured.acknowledged, &spent);
        report.add_rate("deliveries/s", measured.delivered, &spent);
        report.add_latencies("last member", &measured.last);
        report.add_latencies("delivery", &measured.delivery);
        report.add_latencies("ack", &measured.ack);
        report.add_violations(violations);
        report.add_usage("message", &spent, measured.acknowledged);
        Ok(report)
    }

    fn parameters(&self, size: u32) -> serde_json::Value {
        json!({
            "members": size,
            "groups": self.groups,
            "window": self.window,
            "text_bytes": self.common.text_bytes,
            "seconds": self.common.seconds,
        })
    }
}
