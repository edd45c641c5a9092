//! More and more messages in the store.

use super::Arguments;
use super::crash;
use super::probe::{add_memory, settle};
use super::world::World;
use crate::load::report::Report;
use crate::load::run::Stage;

pub(super) fn measure(arguments: &Arguments, stage: &mut Stage) -> anyhow::Result<Vec<Report>> {
    let mut world = World::of_pairs(arguments, stage)?;
    let mut reports = Vec::new();
    for messages in &arguments.messages {
        let each = messages / world.members.len() as u32;
        world.fill(stage, each)?;
        settle(stage);
        let mut report = arguments.report("growth-history", "messages", *messages, stage);
        // Probes that add messages come last.
        world.page(stage, each, &mut report)?;
        world.list(stage, &mut report)?;
        world.resume(stage, &mut report)?;
        world.send(stage, arguments.rate, &mut report)?;
        add_memory(&mut report, stage);
        reports.push(report);
    }
    reports.push(crash::measure(stage, &mut world)?);
    Ok(reports)
}
