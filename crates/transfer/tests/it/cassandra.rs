//! From a folder into a cluster, and back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use godwit_domain::ports::TransferStore;
use godwit_store_cassandra::{CassandraStore, Options, schema};
use godwit_testkit::WallClock;
use godwit_testkit::cluster::{Cluster, Shared};
use godwit_testkit::replay::check_against_model;
use godwit_testkit::replay::ops::{Op, any_ops};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use tokio::runtime::Runtime;

use crate::places::{Folder, Journey, Place, When, with_everybody};

/// Sequences that are done one after the other in the same world.
const SEQUENCES: usize = 3;
const KEYSPACE: &str = "godwit_transfer";

/// A keyspace that is empty when the test begins.
struct Keyspace(Arc<Shared>);

#[async_trait]
impl Place for Keyspace {
    async fn open(&self) -> Arc<dyn TransferStore> {
        let options = options(&self.0);
        let opened = Box::pin(CassandraStore::open(options, Arc::new(WallClock))).await;
        Arc::new(opened.unwrap_or_else(|error| panic!("{error}")))
    }
}

/// The nodes share a machine, and one that is slow has not gone.
fn options(cluster: &Shared) -> Options {
    let (silence_max, request_timeout) = (Duration::from_secs(30), Duration::from_secs(30));
    Options { silence_max, request_timeout, ..Options::new(cluster.contact_points(), KEYSPACE) }
}

#[test]
fn there_and_back_nothing_is_different() {
    let runtime = Runtime::new().unwrap();
    let cluster = Arc::new(Cluster::shared().unwrap_or_else(|error| panic!("{error}")));
    let options = options(&cluster);
    runtime.block_on(schema::drop(&options)).unwrap();
    let mut runner = TestRunner::default();
    let mut ops = Vec::new();
    for _ in 0..SEQUENCES {
        let drawn = any_ops().new_tree(&mut runner).unwrap().current();
        ops.extend(drawn.into_iter().filter(|op| !matches!(op, Op::Reopen)));
    }
    let mut ops = with_everybody(ops);
    ops.insert(ops.len() / 3, Op::Reopen);
    ops.insert(ops.len() * 2 / 3, Op::Reopen);
    let number = AtomicUsize::new(0);
    let journey = Journey::new(When::Before, move || match number.fetch_add(1, Ordering::Relaxed) {
        1 => Box::new(Keyspace(cluster.clone())),
        _ => Box::new(Folder::new()),
    });
    runtime.block_on(check_against_model(&journey, &ops)).unwrap();
    runtime.block_on(schema::drop(&options)).unwrap();
}
