//! On a real cluster.

mod data;
mod moving;
mod writes;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use godwit_domain::ports::{Changed, Moving, Part, StoreError, TransferStore};
use godwit_testkit::cluster::{Cluster, Shared};
use godwit_testkit::{Scene, WallClock};
use tokio::sync::{Mutex, MutexGuard, OnceCell};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::options::Options;
use crate::{CassandraStore, schema};

/// What is moved is a whole keyspace, so those who move take turns.
static TURN: Mutex<()> = Mutex::const_new(());

async fn keyspace(cell: &'static OnceCell<String>, name: &str, cluster: &Shared) -> &'static str {
    let make = async || {
        let name = format!("{name}_{:08x}", rand::random::<u32>());
        schema::create(&Options::patient(cluster.contact_points(), &name)).await.unwrap();
        name
    };
    cell.get_or_init(make).await
}

async fn open(cluster: &Shared, keyspace: &str) -> Arc<CassandraStore> {
    let options = Options::patient(cluster.contact_points(), keyspace);
    Arc::new(CassandraStore::open(options, Arc::new(WallClock)).await.unwrap())
}

/// How often the one who is used looks whether something is moved, so that nobody waits for it for seconds.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Two who have the same keyspace open: one who moves, and one who is used. Nothing is moved at first.
struct Move {
    mover: Arc<CassandraStore>,
    used: Arc<CassandraStore>,
    _looking: JoinSet<()>,
    scene: Scene,
    keyspace: &'static str,
    cluster: Shared,
    _turn: MutexGuard<'static, ()>,
}

impl Move {
    async fn new() -> Self {
        static KEYSPACE: OnceCell<String> = OnceCell::const_new();
        let turn = TURN.lock().await;
        let cluster = Cluster::shared().unwrap();
        let keyspace = keyspace(&KEYSPACE, "moving", &cluster).await;
        let (mover, used) = (open(&cluster, keyspace).await, open(&cluster, keyspace).await);
        let (mut looking, gate) = (JoinSet::new(), used.gate.clone());
        looking.spawn(async move {
            loop {
                // One that fails is followed by another one.
                drop(gate.look().await);
                sleep(LOOK_INTERVAL).await;
            }
        });
        let left = mover.moving().await.unwrap();
        assert_eq!(mover.set_moving(&left, Moving::Not).await.unwrap(), Moving::Not);
        let scene = Scene::new(vec![used.clone()]);
        Self { mover, used, _looking: looking, scene, keyspace, cluster, _turn: turn }
    }

    async fn become_of(&self, from: Moving, to: Moving) {
        assert_eq!(self.mover.set_moving(&from, to.clone()).await.unwrap(), to);
    }

    /// Begins.
    async fn go(&self) {
        self.become_of(Moving::Not, out()).await;
    }

    /// What has changed since the last time.
    async fn changed(&self) -> BTreeSet<Part> {
        let changed = self.mover.changed(1_000).await.unwrap();
        self.mover.settled(changed.clone()).await.unwrap();
        parts(changed)
    }

    /// Those who have gone are not waited for.
    async fn end(self) {
        self.used.close().await.unwrap();
        let left = self.mover.moving().await.unwrap();
        self.mover.set_moving(&left, Moving::Not).await.unwrap();
        self.mover.close().await.unwrap();
    }
}

fn out() -> Moving {
    Moving::Out { to: "there".into() }
}

fn held() -> Moving {
    Moving::Held { to: "there".into() }
}

fn gone() -> Moving {
    Moving::Gone { to: "there".into() }
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
