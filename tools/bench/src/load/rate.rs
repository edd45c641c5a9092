//! `godwit-bench rate`: the latency of messages at a fixed send rate, whatever the server does.

use clap::Args;
use serde_json::json;

use super::pairs::talk;
use super::receiving::{Receiving, Room};
use super::report::Report;
use super::run::{self, Common, Load, Stage};
use super::sessions::Sessions;
use super::traffic::Traffic;
use crate::figures::Value;
use crate::messenger::Messenger;
use crate::wire::Net;

/// Messages in flight per sender. A message that waits for room counts as late: its time starts when it was due.
const WINDOW: usize = 64;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// Measure the latency of messages at a fixed rate
///
/// Messages are sent on a schedule, whatever the server does (open loop). The latency of a message counts from its scheduled
/// time, so that stalls of the server count in full.
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Messages per second; one run per value
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [500], value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) rate: Vec<u64>,

    /// Number of pairs, which send in turn
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) pairs: u32,

    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    run::main(&arguments.common, |stage| arguments.measure(stage))
}

impl Arguments {
    pub(super) fn measure(&self, stage: &Stage) -> anyhow::Result<Vec<Report>> {
        self.rate.iter().map(|rate| self.measure_rate(stage, stage.godwit(2 * self.pairs), *rate)).collect()
    }

    pub(crate) fn measure_rate<M: Messenger>(
        &self,
        stage: &Stage,
        messenger: M,
        rate: u64,
    ) -> anyhow::Result<Report> {
        let mut sessions = stage.sign_in(messenger, 2 * self.pairs)?;
        let mut traffic = Traffic::new(self.common.text_bytes);
        let streams = talk(&mut sessions, &mut traffic, self.pairs, false, WINDOW)?;
        let mut report = Report::new("rate", sessions.messenger.name(), self.parameters(rate));
        let spent = stage.drive(&mut OpenLoop::new(&mut sessions, &mut traffic, &streams, rate))?;

        let violations = traffic.finish();
        let measured = &traffic.measured;
        report.add("asked for/s", Value::PerSecond(rate as f64));
        report.add_rate("sends/s", measured.acknowledged, &spent);
        report.add_rate("deliveries/s", measured.delivered, &spent);
        report.add_latencies("delivery", &measured.delivery);
        report.add_latencies("ack", &measured.ack);
        report.add_violations(violations);
        report.add_usage("message", &spent, measured.acknowledged);
        Ok(report)
    }

    fn parameters(&self, rate: u64) -> serde_json::Value {
        json!({
            "rate": rate,
            "pairs": self.pairs,
            "text_bytes": self.common.text_bytes,
            "seconds": self.common.seconds,
        })
    }
}

/// The schedule of messages.
#[derive(Debug)]
struct Schedule {
    began_ns: u64,
    /// Per second.
    rate: u64,
    sent: u64,
}

impl Schedule {
    const fn next_ns(&self) -> u64 {
        self.began_ns + (self.sent as u128 * NS_PER_SECOND as u128 / self.rate as u128) as u64
    }
}

/// The streams send in turn, by the clock (open loop).
pub(super) struct OpenLoop<'a, M> {
    sessions: &'a mut Sessions<M>,
    traffic: &'a mut Traffic,
    streams: &'a [u32],
    schedule: Schedule,
    is_stopped: bool,
    room: Room,
}

impl<'a, M: Messenger> OpenLoop<'a, M> {
    /// This many messages per second on streams of the traffic.
    pub(super) fn new(
        sessions: &'a mut Sessions<M>,
        traffic: &'a mut Traffic,
        streams: &'a [u32],
        rate: u64,
    ) -> Self {
        let schedule = Schedule { began_ns: 0, rate, sent: 0 };
        Self { sessions, traffic, streams, schedule, is_stopped: false, room: Room::default() }
    }

    /// Sends the due messages, as far as there is room. Senders take turns, which preserves the order.
    fn send_due(&mut self) {
        let now_ns = self.sessions.net.now_ns();
        while !self.is_stopped && self.schedule.next_ns() <= now_ns {
            let stream = self.streams[(self.schedule.sent % self.streams.len() as u64) as usize];
            if !self.traffic.has_room(stream) {
                return;
            }
            let due_ns = self.schedule.next_ns();
            self.traffic.send(&mut self.sessions.net, &mut self.sessions.messenger, stream, due_ns);
            self.schedule.sent += 1;
        }
    }
}

impl<M: Messenger> Load for OpenLoop<'_, M> {
    fn net(&mut self) -> &mut Net {
        &mut self.sessions.net
    }

    fn traffic(&mut self) -> &mut Traffic {
        self.traffic
    }

    fn begin(&mut self) -> anyhow::Result<()> {
        self.schedule.began_ns = self.sessions.net.now_ns();
        Ok(())
    }

    fn poll(&mut self, until_ns: u64) -> anyhow::Result<()> {
        self.send_due();
        let next_ns = if self.is_stopped { u64::MAX } else { self.schedule.next_ns() };
        // A message that is late waits for room, which an incoming frame will make.
        let until_ns = if next_ns > self.sessions.net.now_ns() { until_ns.min(next_ns) } else { until_ns };
        let Sessions { net, messenger } = &mut *self.sessions;
        let mut receiving =
            Receiving { messenger, traffic: self.traffic, refills: false, room: &mut self.room };
        net.poll(until_ns, &mut receiving)
    }

    fn stop(&mut self) {
        self.is_stopped = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_due_at_even_intervals() {
        let mut schedule = Schedule { began_ns: 7, rate: 3, sent: 0 };
        let mut due = |sent| {
            schedule.sent = sent;
            schedule.next_ns()
        };
        assert_eq!([0, 1, 2, 3].map(&mut due), [7, 333_333_340, 666_666_673, 1_000_000_007]);
        assert_eq!(due(3_000_000_000), 7 + 1_000_000_000 * NS_PER_SECOND);
    }
}
