//! `godwit-bench pairs`: the maximum throughput of messages between pairs of people.

use clap::Args;
use serde_json::json;

use super::closed_loop::ClosedLoop;
use super::report::Report;
use super::run::{self, Common, Load, Stage};
use super::sessions::Sessions;
use super::traffic::Traffic;
use crate::messenger::Messenger;

/// Measure the throughput and the latency of messages between pairs of users
///
/// Each sender keeps a window of messages in flight: when one is acknowledged and delivered, it sends the next.
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Number of pairs
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) pairs: u32,

    /// Messages in flight per sender
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) window: u32,

    /// Both users of each pair send
    #[arg(long)]
    pub(crate) both: bool,

    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    run::main(&arguments.common, |stage| arguments.measure_on_godwit(stage))
}

impl Arguments {
    pub(super) fn measure_on_godwit(&self, stage: &Stage) -> anyhow::Result<Vec<Report>> {
        Ok(vec![self.measure(stage, stage.godwit(2 * self.pairs))?])
    }

    pub(crate) fn measure<M: Messenger>(&self, stage: &Stage, messenger: M) -> anyhow::Result<Report> {
        let mut sessions = stage.sign_in(messenger, 2 * self.pairs)?;
        let mut traffic = Traffic::new(self.common.text_bytes);
        let streams = talk(&mut sessions, &mut traffic, self.pairs, self.both, self.window as usize)?;
        let mut report = Report::new("pairs", sessions.messenger.name(), self.parameters());
        let mut load = ClosedLoop::new(sessions, traffic, streams);
        let spent = stage.drive(&mut load)?;

        let violations = load.traffic().finish();
        let measured = &load.traffic().measured;
        report.add_rate("sends/s", measured.acknowledged, &spent);
        report.add_rate("deliveries/s", measured.delivered, &spent);
        report.add_latencies("delivery", &measured.delivery);
        report.add_latencies("ack", &measured.ack);
        report.add_violations(violations);
        report.add_usage("message", &spent, measured.acknowledged);
        Ok(report)
    }

    fn parameters(&self) -> serde_json::Value {
        json!({
            "pairs": self.pairs,
            "window": self.window,
            "both": self.both,
            "text_bytes": self.common.text_bytes,
            "seconds": self.common.seconds,
        })
    }
}

/// Creates a conversation for each pair. Returns the streams of the senders: the first of each pair, or both.
pub(crate) fn talk<M: Messenger>(
    sessions: &mut Sessions<M>,
    traffic: &mut Traffic,
    pairs: u32,
    both: bool,
    window: usize,
) -> anyhow::Result<Vec<u32>> {
    let pairs: Vec<Vec<u32>> = (0..pairs).map(|pair| vec![2 * pair, 2 * pair + 1]).collect();
    let conversations = sessions.make_conversations(&pairs)?;
    let streams = conversations.into_iter().zip(&pairs).flat_map(|(conversation, members)| {
        let senders = if both { &members[..] } else { &members[..1] };
        traffic.add_conversation(conversation, members, senders, window)
    });
    Ok(streams.collect())
}
