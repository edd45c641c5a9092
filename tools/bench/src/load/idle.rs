//! `godwit-bench idle`: the cost of idle connections.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::receiving::{Receiving, Room};
use super::report::Report;
use super::run::{self, Common, Stage};
use super::sessions::{Connected, Sessions};
use super::traffic::Traffic;
use crate::figures::Value;
use crate::messenger::Messenger;
use crate::numbers::thousands;

/// Measure idle connections: memory per connection, sign-ins per second, and the cost of heartbeats
///
/// All users sign in for the first time. Then the server restarts, so that its memory consists only of connections, and the
/// users sign in again.
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Number of connected users; one run per value
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [10_000], value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) connections: Vec<u32>,

    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    run::main(&arguments.common, |stage| arguments.measure_on_godwit(stage))
}

impl Arguments {
    pub(super) fn measure_on_godwit(&self, stage: &mut Stage) -> anyhow::Result<Vec<Report>> {
        let godwit = stage.godwit(self.users());
        self.measure(stage, godwit)
    }

    pub(crate) fn users(&self) -> u32 {
        self.connections.iter().copied().max().unwrap_or(0)
    }

    /// With as many users as [`Arguments::users`] says.
    pub(crate) fn measure<M: Messenger>(
        &self,
        stage: &mut Stage,
        messenger: M,
    ) -> anyhow::Result<Vec<Report>> {
        let users = self.users();
        let mut newcomers = Sessions::new(messenger, users as usize)?;
        newcomers.messenger.prepare(users)?;
        let signing_in =
            stage.step(format!("signing in {} users for the first time", thousands(users as usize)));
        let took = newcomers.sign_in(0..users, &signing_in.done())?.took;
        drop(signing_in);
        let newcomers_per_second = f64::from(users) / took.as_secs_f64();

        let Sessions { net, mut messenger } = newcomers;
        drop(net);
        let mut reports = Vec::new();
        for connections in &self.connections {
            stage.server.start_again()?;
            messenger.move_to(stage.server.address());
            let mut report;
            (report, messenger) = self.measure_connections(stage, messenger, *connections)?;
            report.add("new users/s", Value::PerSecond(newcomers_per_second));
            reports.push(report);
        }
        Ok(reports)
    }

    /// On a server that knows all users and has no connections.
    fn measure_connections<M: Messenger>(
        &self,
        stage: &Stage,
        messenger: M,
        connections: u32,
    ) -> anyhow::Result<(Report, M)> {
        let alone = stage.sample()?;
        let mut sessions = Sessions::new(messenger, connections as usize)?;
        let signing_in = stage.step(format!("signing in {} users", thousands(connections as usize)));
        let Connected { took, latencies } = sessions.sign_in(0..connections, &signing_in.done())?;
        drop(signing_in);
        let signed_in = stage.sample()?;
        // Waits for the after-effects of signing in.
        let settling = stage.step("settling");
        listen(&mut sessions, Duration::from_secs_f64(self.common.warm_up))?;
        drop(settling);

        let _listening = stage.step(format!("idling for {} s", self.common.seconds));
        let (before, pings_before) = (stage.sample()?, sessions.net.pings);
        listen(&mut sessions, Duration::from_secs_f64(self.common.seconds))?;
        let (after, pings) = (stage.sample()?, sessions.net.pings - pings_before);

        let parameters = json!({ "connections": connections, "seconds": self.common.seconds });
        let mut report = Report::new("idle", sessions.messenger.name(), parameters);
        let each = |amount: f64| amount / f64::from(connections);
        report.add("connections", Value::Number(f64::from(connections)));
        report.add("sign-ins/s", Value::PerSecond(f64::from(connections) / took.as_secs_f64()));
        report.add_latencies("sign-in", &latencies);
        if let (Some(alone), Some(signed_in), Some(before), Some(after)) =
            (alone.server, signed_in.server, before.server, after.server)
        {
            let grown = after.resident_bytes.saturating_sub(alone.resident_bytes) as f64;
            report.add("memory a connection", Value::Bytes(each(grown)));
            report.add("server memory", Value::Bytes(after.resident_bytes as f64));
            let signing_in =
                Duration::from_secs_f64(each((signed_in.cpu_seconds - alone.cpu_seconds).max(0.0)));
            report.add("server CPU a sign-in", Value::Time(signing_in));
            let idle_cpu = (after.cpu_seconds - before.cpu_seconds).max(0.0);
            report.add("server CPU", Value::Share(idle_cpu / self.common.seconds));
            if pings > 0 {
                report.add(
                    "server CPU a heartbeat",
                    Value::Time(Duration::from_secs_f64(idle_cpu / pings as f64)),
                );
            }
        }
        report.add("heartbeats/s", Value::PerSecond(pings as f64 / self.common.seconds));
        let generator = signed_in.generator.cpu_seconds - alone.generator.cpu_seconds;
        report.add("generator CPU signing in", Value::Share(generator / took.as_secs_f64()));
        Ok((report, sessions.messenger))
    }
}

/// Answers the server's pings, and does nothing else.
pub(super) fn listen<M: Messenger>(sessions: &mut Sessions<M>, time: Duration) -> anyhow::Result<()> {
    let Sessions { net, messenger } = sessions;
    let (mut traffic, mut room) = (Traffic::new(0), Room::default());
    let mut receiving = Receiving { messenger, traffic: &mut traffic, refills: false, room: &mut room };
    let end_ns = net.now_ns() + time.as_nanos() as u64;
    while net.now_ns() < end_ns {
        net.poll(end_ns, &mut receiving)?;
    }
    Ok(())
}
