//! Transfers from a folder to Cassandra, and back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use godwit_domain::ports::TransferStore;
use godwit_store_cassandra::options::Replication;
use godwit_store_cassandra::{CassandraStore, Options};
use godwit_testbed::{Cassandra, Shared};
use godwit_testkit::WallClock;
use godwit_testkit::replay::check_against_model;
use godwit_testkit::replay::ops::{Op, any_ops};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use tokio::runtime::Runtime;

use crate::personal::kept_also_by_who_left;
use crate::sites::{Folder, Journey, Site, When, with_everybody};

/// Sequences replayed one after the other in the same world.
const SEQUENCES: usize = 3;

/// A keyspace that no other test uses.
struct Keyspace(Options);

#[async_trait]
impl Site for Keyspace {
    async fn open(&self) -> Arc<dyn TransferStore> {
        let opened = Box::pin(CassandraStore::open(self.0.clone(), Arc::new(WallClock))).await;
        Arc::new(opened.unwrap_or_else(|error| panic!("{error}")))
    }
}

/// The nodes share a machine, so a slow node does not count as down. More than one replica would only take
/// time.
fn options(cluster: &Shared) -> Options {
    let (silence_max, request_timeout) = (Duration::from_secs(30), Duration::from_secs(30));
    let keyspace = format!("transfer_{:08x}", rand::random::<u32>());
    let replication = Replication::Each(1);
    Options { silence_max, request_timeout, replication, ..Options::new(cluster.contact_points(), keyspace) }
}

#[test]
fn a_transfer_there_and_back_changes_nothing() {
    let runtime = Runtime::new().unwrap();
    let cluster = Cassandra::shared().unwrap_or_else(|error| panic!("{error}"));
    let options = options(&cluster);
    let mut runner = TestRunner::default();
    let mut ops = kept_also_by_who_left(2);
    for _ in 0..SEQUENCES {
        let drawn = any_ops().new_tree(&mut runner).unwrap().current();
        ops.extend(drawn.into_iter().filter(|op| !matches!(op, Op::Reopen)));
    }
    let mut ops = with_everybody(ops);
    ops.insert(ops.len() / 3, Op::Reopen);
    ops.insert(ops.len() * 2 / 3, Op::Reopen);
    let number = AtomicUsize::new(0);
    let journey = Journey::new(When::Before, move || match number.fetch_add(1, Ordering::Relaxed) {
        1 => Box::new(Keyspace(options.clone())),
        _ => Box::new(Folder::new()),
    });
    runtime.block_on(check_against_model(&journey, &ops)).unwrap();
}
