//! The Cassandra store passes the suite, on real nodes, with two servers' worth of stores open at once.

mod clocks;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use godwit_domain::ports::Store;
use godwit_store_cassandra::options::Replication;
use godwit_store_cassandra::{CassandraStore, EpochTerms, Options};
use godwit_testkit::cluster::{Cluster, Shared};
use godwit_testkit::{StoreFactory, WallClock, replay};
use tokio::sync::OnceCell;

/// All tests share it: making the tables takes longer than most of them. What earlier runs left in it does no harm, as
/// every test has users of its own.
const KEYSPACE: &str = "godwit_conformance";

/// What three are for is tested with whole servers; here they would only take their time.
const COPIES: Replication = Replication::Each(1);

/// How long the unordered part of an inbox may get, on each node. With the first even a few conversations go through all
/// of the inbox's machinery; the second is the default.
const INBOX_RECENT_MAX: [usize; 2] = [4, 64];
/// No time passes, so every write looks whether it was in time.
const INBOX_EPOCHS: EpochTerms = EpochTerms { valid: Duration::ZERO, age_min: Duration::ZERO };

/// Sequences of random operations. Each takes a second or two here, so fewer than on other stores.
const REPLAYS: u32 = 4;

/// The cluster while one test runs; the stores stay open for the next.
struct Keyspace(Shared);

static NODES: LazyLock<[OnceCell<Arc<dyn Store>>; 2]> = LazyLock::new(Default::default);

impl Keyspace {
    fn join() -> Self {
        Self(Cluster::shared().unwrap_or_else(|error| panic!("{error}")))
    }

    /// The nodes share a machine, and one that is slow has not gone.
    fn options(&self) -> Options {
        let (silence_max, request_timeout) = (Duration::from_secs(30), Duration::from_secs(30));
        let options = Options::new(self.0.contact_points(), KEYSPACE);
        Options { silence_max, request_timeout, replication: COPIES, ..options }
    }

    async fn open_node(&self, inbox_recent_max: usize) -> Arc<dyn Store> {
        let options = Options { inbox_recent_max, inbox_epochs: INBOX_EPOCHS, ..self.options() };
        let opened = Box::pin(CassandraStore::open(options, Arc::new(WallClock))).await;
        Arc::new(opened.unwrap_or_else(|error| panic!("{error}")))
    }
}

#[async_trait]
impl StoreFactory for Keyspace {
    /// Takes turns, so that the suite gets both.
    async fn open(&self) -> Arc<dyn Store> {
        static TURN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let turn = TURN.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % NODES.len();
        NODES[turn].get_or_init(|| self.open_node(INBOX_RECENT_MAX[turn])).await.clone()
    }

    fn nodes(&self) -> usize {
        NODES.len()
    }

    /// Nothing of a node is kept but in the cluster, so a new one must see the same.
    async fn reopen(&self, _: Arc<dyn Store>) -> Arc<dyn Store> {
        self.open_node(INBOX_RECENT_MAX[0]).await
    }
}

godwit_testkit::conformance_tests!(Keyspace::join());

#[test]
fn it_does_what_the_model_does() {
    replay::check_random(&Keyspace::join(), REPLAYS);
}
