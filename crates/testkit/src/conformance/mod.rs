//! The cases that say what a store is.
//!
//! - `cases`: the one list, from which [`CASES`] and the tests of every backend come
//! - a file for each group of cases; `expected` and `rows` are what they share
//!
//! Each has users, conversations and times of its own (see [`Scene`]), so that all can run on one store at once, also
//! while others use it.

mod cases;
mod expected;
mod rows;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use godwit_domain::ports::{Store, StoreError};

use crate::factory::{StoreFactory, block_on};
use crate::scene::Scene;

/// A case fails by panicking; an error of the store fails it too.
pub type Outcome = Result<(), StoreError>;

/// Concurrent callers in cases about agreement.
const CALLERS: usize = 32;

/// No case takes nearly as long; one that waits forever is a failure and not a hanging build.
const CASE_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// `group::case`
    pub name: &'static str,
    run: fn(Scene) -> Pin<Box<dyn Future<Output = Outcome> + Send>>,
}

macro_rules! define_cases {
    ($($group:ident { $($case:ident)+ })+) => {
        $(mod $group;)+

        pub const CASES: &[Case] = &[$($(Case {
            name: concat!(stringify!($group), "::", stringify!($case)),
            run: |scene| Box::pin(async move { $group::$case(&scene).await }),
        },)+)+];
    };
}

crate::conformance_cases!(define_cases);

/// Makes one test of each case, for the store that the expression (a [`StoreFactory`]) opens. It is evaluated anew for
/// each test. To be used once in a module.
#[macro_export]
macro_rules! conformance_tests {
    ($factory:expr) => {
        fn conformance_factory() -> impl $crate::StoreFactory {
            $factory
        }

        $crate::conformance_cases!($crate::conformance_test_functions);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_test_functions {
    ($($group:ident { $($case:ident)+ })+) => {
        $(mod $group {
            $(#[test]
            fn $case() {
                let name = concat!(stringify!($group), "::", stringify!($case));
                $crate::conformance::check(name, &super::conformance_factory());
            })+
        })+
    };
}

/// Runs one case on the store of the factory. Panics when it fails.
pub fn check(name: &str, factory: &dyn StoreFactory) {
    let case = CASES.iter().find(|case| case.name == name).expect("the name is in the list");
    block_on(async { case.run(open_nodes(factory).await).await });
}

/// Runs all cases at once on one store of the factory. Panics when one fails.
pub fn check_all_at_once(factory: &dyn StoreFactory) {
    block_on(async {
        let nodes = open_nodes(factory).await;
        let running: Vec<_> = CASES.iter().map(|case| tokio::spawn(case.run(nodes.clone()))).collect();
        let mut failed = Vec::new();
        for (case, running) in CASES.iter().zip(running) {
            if running.await.is_err() {
                failed.push(case.name);
            }
        }
        assert!(failed.is_empty(), "failed on a shared store: {failed:?}");
    });
}

impl Case {
    /// Panics when the store does not do what the case asks for.
    pub async fn run(self, nodes: Vec<Arc<dyn Store>>) {
        let outcome = tokio::time::timeout(CASE_TIMEOUT, (self.run)(Scene::new(nodes))).await;
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                panic!("{}: {error}: {}", self.name, source.unwrap_or_default())
            }
            Err(_) => panic!("{} did not end in time", self.name),
        }
    }
}

async fn open_nodes(factory: &dyn StoreFactory) -> Vec<Arc<dyn Store>> {
    let mut nodes = Vec::new();
    for _ in 0..factory.nodes() {
        nodes.push(factory.open().await);
    }
    nodes
}
