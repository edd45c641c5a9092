//! Random operations on a store and on the model, and a comparison of everything that can be read.
//!
//! - [`ops`], [`steps`]: the operations, and how random ones are generated
//! - `world`, `talk`, `personal`: make the same calls on both stores and compare the answers
//! - `writer`: builds an append from steps
//! - `comparable`: the parts of the answers that must be equal
//!
//! `PROPTEST_CASES` sets the number of sequences. A failure prints the shortest failing sequence; pass it to
//! [`check_against_model`] in a separate test to keep it.

mod comparable;
pub mod ops;
mod personal;
pub mod steps;
mod talk;
mod world;
mod writer;

use std::fmt::{self, Debug};

use godwit_domain::ports::StoreError;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use self::ops::{Op, any_ops};
use self::world::World;
use crate::factory::{StoreFactory, block_on};

/// The default number of sequences, which usually finds a fault.
pub const SEQUENCES: u32 = 64;
/// The time limit for shrinking: enough to find a short sequence, and not endless on a slow store.
const SHRINK_TIME_MAX_MS: u32 = 60_000;

/// A difference between a store and the model.
pub struct Difference {
    pub question: String,
    pub store: String,
    pub model: String,
}

/// Runs the operations on a store of the factory and on a model, and compares everything that can be read.
pub async fn check_against_model(factory: &dyn StoreFactory, ops: &[Op]) -> Result<(), Difference> {
    let mut world = World::new(factory.open().await);
    world.known.changes_by_minute = !factory.keeps_change_times();
    for op in ops {
        if matches!(op, Op::Reopen) {
            world = world.reopened(factory).await?;
        } else {
            world.apply(op).await?;
        }
    }
    world.compare_everything().await?;
    world.tidy_up().await
}

/// Runs this many random sequences, unless `PROPTEST_CASES` sets another number. Each has new users and opens the store
/// again. Panics with the shortest sequence on which the store differs from the model.
pub fn check_random(factory: &dyn StoreFactory, sequences: u32) {
    let defaults =
        Config { max_shrink_time: SHRINK_TIME_MAX_MS, failure_persistence: None, ..Config::default() };
    let config = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => defaults,
        None => Config { cases: sequences, ..defaults },
    };
    let outcome = TestRunner::new(config).run(&any_ops(), |ops| {
        let checked = block_on(check_against_model(factory, &ops));
        checked.map_err(|difference| TestCaseError::fail(format!("{difference:?}")))
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, ops)) => panic!("{reason}\nafter {ops:#?}"),
        Err(TestError::Abort(reason)) => panic!("no operations could be drawn: {reason}"),
    }
}

impl Debug for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  store: {}\n  model: {}", self.question, self.store, self.model)
    }
}

/// A store that cannot answer differs too, because the model always answers.
impl From<StoreError> for Difference {
    fn from(error: StoreError) -> Self {
        Self {
            question: "an operation failed".to_owned(),
            store: error.to_string(),
            model: "none fails".to_owned(),
        }
    }
}
