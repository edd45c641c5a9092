//! More and more connections: some send messages, and the others are idle.

use std::time::Duration;

use super::Arguments;
use super::probe::{add_cost, add_memory};
use crate::load::idle::listen;
use crate::load::pairs::talk;
use crate::load::rate::OpenLoop;
use crate::load::report::Report;
use crate::load::run::Stage;
use crate::load::sessions::Sessions;
use crate::load::traffic::Traffic;
use crate::numbers::thousands;
use crate::progress::Done;

/// The pairs that send messages. They are the minimum number of connections.
const PAIRS: u32 = 20;
const WINDOW: usize = 64;
/// The wait for the after-effects of signing in.
const SETTLE: Duration = Duration::from_secs(1);

pub(super) fn measure(arguments: &Arguments, stage: &Stage) -> anyhow::Result<Vec<Report>> {
    let most = arguments.connections.iter().copied().max().unwrap_or(0);
    let mut sessions = Sessions::new(stage.godwit(most), most as usize)?;
    let mut connected = 2 * PAIRS;
    sessions.sign_in(0..connected, &Done::default())?;
    let mut traffic = Traffic::new(arguments.text_bytes);
    let streams = talk(&mut sessions, &mut traffic, PAIRS, false, WINDOW)?;
    let mut reports = Vec::new();
    for connections in &arguments.connections {
        let step = stage.step(format!("connecting {} users", thousands(*connections as usize)));
        sessions.sign_in(connected..connected.max(*connections), &step.done())?;
        connected = connected.max(*connections);
        listen(&mut sessions, SETTLE)?;
        drop(step);
        traffic.start_over();
        let spent = stage.drive(&mut OpenLoop::new(&mut sessions, &mut traffic, &streams, arguments.rate))?;
        let mut report = arguments.report("growth-connections", "connections", *connections, stage);
        add_cost(&mut report, "send", traffic.measured.acknowledged, &traffic.measured.ack, &spent);
        add_memory(&mut report, stage);
        reports.push(report);
    }
    Ok(reports)
}
