//! More and more conversations of one user.

use std::thread;
use std::time::Duration;

use super::Arguments;
use super::probe::{add_memory, settle};
use super::world::World;
use crate::load::report::Report;
use crate::load::run::Stage;

/// The user who sends, and one who is in the same conversations and reads.
const USER: u32 = 0;
const READER: u32 = 1;
/// Each conversation has a third member, so that no two have the same members.
const OTHERS: u32 = 64;
/// The first message is sent in all conversations at once.
const WINDOW: usize = 4;

pub(super) fn measure(arguments: &Arguments, stage: &Stage) -> anyhow::Result<Vec<Report>> {
    let mut world = World::new(arguments, stage, READER + 1 + OTHERS, READER..READER + 1)?;
    let mut reports = Vec::new();
    for conversations in &arguments.conversations {
        let there = world.members.len() as u32;
        let members = (there..*conversations).map(|number| vec![USER, READER + 1 + number % OTHERS, READER]);
        let step = stage.step(format!("creating {conversations} conversations"));
        world.add_conversations(members.collect(), WINDOW)?;
        drop(step);
        world.fill(stage, 1)?;
        settle(stage);
        let mut report = arguments.report("growth-conversations", "conversations", *conversations, stage);
        world.list(stage, &mut report)?;
        let step = stage.step(format!("sending nothing for {} s", arguments.rest));
        thread::sleep(Duration::from_secs_f64(arguments.rest));
        drop(step);
        world.resume(stage, &mut report)?;
        world.send(stage, arguments.rate, &mut report)?;
        add_memory(&mut report, stage);
        reports.push(report);
    }
    Ok(reports)
}
