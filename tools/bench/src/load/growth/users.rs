//! More and more users: some send messages, and the others were connected once.

use godwit_bench::clock::SystemClock;
use godwit_domain::ports::Clock as _;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

use super::Arguments;
use super::probe::{add_cost_of_rounds, add_memory, settle};
use super::world::World;
use crate::load::history::SEED;
use crate::load::report::Report;
use crate::load::run::Stage;
use crate::load::sessions::{Connected, Sessions};
use crate::messenger::Messenger as _;
use crate::messenger::godwit::Godwit;
use crate::numbers::thousands;
use crate::progress::Done;

/// Messages per conversation.
const MESSAGES: u32 = 100;
/// Users per batch, who sign in for the first time together, and again together later.
pub(super) const BATCH: u32 = 250;
/// Concurrent sign-ins of a batch.
const NEWCOMERS_AT_ONCE: usize = BATCH as usize;
const RETURNING_AT_ONCE: usize = 16;

pub(super) fn measure(arguments: &Arguments, stage: &Stage) -> anyhow::Result<Vec<Report>> {
    let mut world = World::of_pairs(arguments, stage)?;
    world.fill(stage, MESSAGES)?;
    let mut crowd = Crowd { run: format!("{:x}", SystemClock.now().as_millis()), batches: 0 };
    let mut random = SmallRng::seed_from_u64(SEED);
    let mut reports = Vec::new();
    for users in &arguments.users {
        crowd.grow(stage, users / BATCH)?;
        settle(stage);
        let mut report = arguments.report("growth-users", "users", *users, stage);
        world.page(stage, MESSAGES, &mut report)?;
        world.list(stage, &mut report)?;
        add_cost_of_rounds(stage, &mut report, "sign-in", || {
            crowd.sign_in(stage, random.random_range(0..crowd.batches), RETURNING_AT_ONCE, &Done::default())
        })?;
        world.send(stage, arguments.rate, &mut report)?;
        add_memory(&mut report, stage);
        reports.push(report);
    }
    Ok(reports)
}

/// Users who have signed in for the first time, in batches of one size.
struct Crowd {
    run: String,
    batches: u32,
}

impl Crowd {
    fn grow(&mut self, stage: &Stage, batches: u32) -> anyhow::Result<()> {
        let users = thousands((batches * BATCH) as usize);
        let step = stage.step(format!("signing in up to {users} users for the first time"));
        while self.batches < batches {
            self.sign_in(stage, self.batches, NEWCOMERS_AT_ONCE, &step.done())?;
            self.batches += 1;
        }
        Ok(())
    }

    /// All users of a batch connect and disconnect.
    fn sign_in(&self, stage: &Stage, batch: u32, at_once: usize, done: &Done) -> anyhow::Result<Connected> {
        let run = format!("{}-{batch}", self.run);
        let godwit = Godwit::new(stage.server.address(), stage.server.key(), BATCH as usize, run);
        Sessions::new(godwit, BATCH as usize)?.connect(0..BATCH, at_once, done, Godwit::sign_in)
    }
}
