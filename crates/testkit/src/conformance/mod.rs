//! The conformance suite: the cases that define a store.
//!
//! - `cases`: the list of all cases, which defines [`CASES`] and the tests of every backend
//! - one file per group of cases; `expected` and `rows` are shared helpers
//!
//! Each case has its own users, conversations and times (see [`Scene`]), so all cases can run concurrently on one store,
//! even while others use it.

mod cases;
mod expected;
mod rows;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use godwit_domain::ports::{Store, StoreError};

use crate::factory::{StoreFactory, block_on};
use crate::scene::Scene;

/// A case fails by panicking, or with an error of the store.
pub type Outcome = Result<(), StoreError>;

/// Concurrent callers in cases about compare-and-set.
const CALLERS: usize = 32;

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

/// Defines one test per case, for the store that the expression (a [`StoreFactory`]) opens. Each test evaluates the
/// expression again. Use it once per module.
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

/// Runs one case on the store of the factory. Panics if it fails.
pub fn check(name: &str, factory: &dyn StoreFactory) {
    let case = CASES.iter().find(|case| case.name == name).expect("the name is in the list");
    block_on(async { case.run(open_nodes(factory).await, factory.patience()).await });
}

/// Runs all cases concurrently on one store of the factory. Panics if one fails.
pub fn check_all_at_once(factory: &dyn StoreFactory) {
    // The cases wait for each other.
    let patience = 2 * factory.patience();
    block_on(async {
        let nodes = open_nodes(factory).await;
        let running: Vec<_> =
            CASES.iter().map(|case| tokio::spawn(case.run(nodes.clone(), patience))).collect();
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
    /// Panics if the store does not pass the case within this time.
    pub async fn run(self, nodes: Vec<Arc<dyn Store>>, patience: Duration) {
        let outcome = tokio::time::timeout(patience, (self.run)(Scene::new(nodes))).await;
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
