//! Transfers from folder to folder.

use godwit_testkit::replay::check_against_model;
use godwit_testkit::replay::ops::{Op, any_ops};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tokio::runtime::Runtime;

use crate::sites::{Folder, Journey, When, with_everybody};

/// Sequences of random operations.
const SEQUENCES: u32 = 24;

#[test]
fn a_transferred_store_behaves_like_the_model() {
    check(When::Then);
}

#[test]
fn changes_after_the_first_pass_are_transferred() {
    check(When::Before);
}

fn check(when: When) {
    let runtime = Runtime::new().unwrap();
    let config =
        Config { cases: SEQUENCES, max_shrink_time: 60_000, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&any_ops(), |ops| {
        let mut ops = with_everybody(ops);
        ops.insert(ops.len() / 2, Op::Reopen);
        ops.push(Op::Reopen);
        let journey = Journey::new(when, || Box::new(Folder::new()));
        let checked = runtime.block_on(check_against_model(&journey, &ops));
        checked.map_err(|difference| TestCaseError::fail(format!("{difference:?}")))
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
