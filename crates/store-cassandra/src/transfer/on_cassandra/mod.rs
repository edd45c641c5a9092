//! Tests on Cassandra.

mod data;
mod states;
mod writes;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use godwit_domain::ports::{Changed, Part, StoreError, TransferState, TransferStore};
use godwit_testbed::{Cassandra, Shared};
use godwit_testkit::{Scene, WallClock};
use tokio::sync::{Mutex, MutexGuard, OnceCell};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::options::Options;
use crate::{CassandraStore, schema};

/// A transfer affects a whole keyspace, so the tests take turns.
static TURN: Mutex<()> = Mutex::const_new(());

async fn keyspace(cell: &'static OnceCell<String>, name: &str, cassandra: &Shared) -> &'static str {
    let make = async || {
        let name = format!("{name}_{:08x}", rand::random::<u32>());
        schema::create(&Options::patient(cassandra.contact_points(), &name)).await.unwrap();
        name
    };
    cell.get_or_init(make).await
}

async fn open(cassandra: &Shared, keyspace: &str) -> Arc<CassandraStore> {
    let options = Options::patient(cassandra.contact_points(), keyspace);
    Arc::new(CassandraStore::open(options, Arc::new(WallClock)).await.unwrap())
}

/// How often the store in use reads the state, so that no test waits for seconds.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Two handles of the same keyspace: one transfers, one is in use. No transfer has begun.
struct Stage {
    transfer: Arc<CassandraStore>,
    used: Arc<CassandraStore>,
    _looking: JoinSet<()>,
    scene: Scene,
    keyspace: &'static str,
    cassandra: Shared,
    _turn: MutexGuard<'static, ()>,
}

impl Stage {
    async fn new() -> Self {
        static KEYSPACE: OnceCell<String> = OnceCell::const_new();
        let turn = TURN.lock().await;
        let cassandra = Cassandra::shared().unwrap();
        let keyspace = keyspace(&KEYSPACE, "transfer", &cassandra).await;
        let (transfer, used) = (open(&cassandra, keyspace).await, open(&cassandra, keyspace).await);
        let (mut looking, gate) = (JoinSet::new(), used.gate.clone());
        looking.spawn(async move {
            loop {
                // A failed read is followed by another one.
                drop(gate.look().await);
                sleep(LOOK_INTERVAL).await;
            }
        });
        let left = transfer.transfer_state().await.unwrap();
        assert_eq!(transfer.set_transfer_state(&left, TransferState::Not).await.unwrap(), TransferState::Not);
        let scene = Scene::new(vec![used.clone()]);
        Self { transfer, used, _looking: looking, scene, keyspace, cassandra, _turn: turn }
    }

    async fn become_of(&self, from: TransferState, to: TransferState) {
        assert_eq!(self.transfer.set_transfer_state(&from, to.clone()).await.unwrap(), to);
    }

    /// Begins a transfer.
    async fn go(&self) {
        self.become_of(TransferState::Not, out()).await;
    }

    /// The parts that changed since the last call.
    async fn changed(&self) -> BTreeSet<Part> {
        let changed = self.transfer.changed(1_000).await.unwrap();
        self.transfer.settled(changed.clone()).await.unwrap();
        parts(changed)
    }

    /// Closes the handle in use first, because closed handles are not waited for.
    async fn end(self) {
        self.used.close().await.unwrap();
        let left = self.transfer.transfer_state().await.unwrap();
        self.transfer.set_transfer_state(&left, TransferState::Not).await.unwrap();
        self.transfer.close().await.unwrap();
    }
}

fn out() -> TransferState {
    TransferState::Out { to: "there".into() }
}

fn held() -> TransferState {
    TransferState::Held { to: "there".into() }
}

fn gone() -> TransferState {
    TransferState::Gone { to: "there".into() }
}

fn parts(changed: Changed) -> BTreeSet<Part> {
    let (count, parts) = (changed.parts.len(), BTreeSet::from_iter(changed.parts));
    assert_eq!(parts.len(), count, "each once");
    parts
}

fn is_refused<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> bool {
    match answer {
        Err(StoreError::Unavailable { source, .. }) => source.to_string().starts_with("the data "),
        Ok(_) => false,
        Err(error) => panic!("{error:?}"),
    }
}
