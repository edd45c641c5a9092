//! The Cassandra store passes the suite on real nodes, with the stores of two servers open at once.

mod clocks;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use godwit_domain::ports::Store;
use godwit_store_cassandra::options::Replication;
use godwit_store_cassandra::{CassandraStore, EpochTerms, Options};
use godwit_testbed::{Cassandra, Shared};
use godwit_testkit::{StoreFactory, WallClock, replay};
use tokio::sync::OnceCell;

/// All tests share the keyspace, because creating the tables takes longer than most tests. Data of earlier runs does no
/// harm, because every test has its own users.
const KEYSPACE: &str = "godwit_conformance";

/// One replica. Tests of whole servers cover three; here they would only take more time.
const COPIES: Replication = Replication::Each(1);

/// The maximum length of the unordered part of an inbox, on each node. With the first value, even a few conversations use
/// all of the inbox's mechanisms; the second one is the default.
const INBOX_RECENT_MAX: [usize; 2] = [4, 64];
/// Zero durations, so every write checks whether its epoch is still valid.
const INBOX_EPOCHS: EpochTerms = EpochTerms { valid: Duration::ZERO, age_min: Duration::ZERO };

/// Sequences of random operations. Each takes one or two seconds here, so there are fewer than for other stores.
const REPLAYS: u32 = 4;

/// The Cassandra cluster during one test. The stores stay open for the next test.
struct Keyspace(Shared);

static NODES: LazyLock<[OnceCell<Arc<dyn Store>>; 2]> = LazyLock::new(Default::default);

impl Keyspace {
    fn join() -> Self {
        Self(Cassandra::shared().unwrap_or_else(|error| panic!("{error}")))
    }

    /// The nodes share one machine, so a slow node is not a dead one.
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
    /// Alternates between the two values, so that the suite tests both.
    async fn open(&self) -> Arc<dyn Store> {
        static TURN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let turn = TURN.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % NODES.len();
        NODES[turn].get_or_init(|| self.open_node(INBOX_RECENT_MAX[turn])).await.clone()
    }

    /// The nodes of Cassandra run on the same machine.
    fn patience(&self) -> Duration {
        Duration::from_secs(120)
    }

    fn nodes(&self) -> usize {
        NODES.len()
    }

    /// A node keeps no data outside Cassandra, so a new node must see the same.
    async fn reopen(&self, _: Arc<dyn Store>) -> Arc<dyn Store> {
        self.open_node(INBOX_RECENT_MAX[0]).await
    }
}

godwit_testkit::conformance_tests!(Keyspace::join());

#[test]
fn the_store_behaves_like_the_model() {
    replay::check_random(&Keyspace::join(), REPLAYS);
}
