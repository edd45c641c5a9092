//! Places that a store is moved to, one after the other.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use godwit_domain::ports::{DueExpiry, Store, TransferStore};
use godwit_protocol::{ConversationId, Seq, Timestamp};
use godwit_store_embedded::{EmbeddedStore, Options};
use godwit_testkit::replay::ops::{Op, USERS};
use godwit_testkit::{StoreFactory, TestClock};
use godwit_transfer::{Control, MoveError, Mover};
use tempfile::TempDir;

/// More than all operations of a test let disappear.
const EXPIRIES_MAX: usize = 100_000;

/// Where a store can be opened again and again.
#[async_trait]
pub(crate) trait Place: Send + Sync {
    async fn open(&self) -> Arc<dyn TransferStore>;
}

/// A folder that goes away in the end.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

#[async_trait]
impl Place for Folder {
    async fn open(&self) -> Arc<dyn TransferStore> {
        let clock = TestClock::stepping(Timestamp::from_millis(1_800_000_000_000), 15_000);
        let options = Options { cache_bytes: 1 << 20, ..Options::default() };
        Arc::new(EmbeddedStore::open(self.0.path(), Arc::new(clock), options).unwrap())
    }
}

/// When everything is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// At the move.
    Then,
    /// Before anything has happened, so that at the move there is only what has changed.
    Before,
}

/// Goes from place to place.
pub(crate) struct Journey {
    when: When,
    next: Box<dyn Fn() -> Box<dyn Place> + Send + Sync>,
    at: Mutex<Stay>,
}

/// Where the store is, and where it goes next.
#[derive(Default)]
struct Stay {
    store: Option<Arc<dyn TransferStore>>,
    number: usize,
    here: Option<Box<dyn Place>>,
    next: Option<Box<dyn Place>>,
}

impl Journey {
    pub(crate) fn new(when: When, next: impl Fn() -> Box<dyn Place> + Send + Sync + 'static) -> Self {
        Self { when, next: Box::new(next), at: Mutex::default() }
    }

    /// Stays at a place, and begins to leave it if that is to be done before anything happens.
    async fn stay(
        &self,
        here: Box<dyn Place>,
        store: Arc<dyn TransferStore>,
        number: usize,
    ) -> Arc<dyn Store> {
        let next = (self.next)();
        if self.when == When::Before {
            let target = next.open().await;
            // It stops as soon as it can each time, and goes on from there, until it has been through everything.
            for _ in 0..4 {
                let control = Arc::new(Control::default());
                control.stop();
                let stopped = controlled(&store, &target, number, control).run().await;
                assert!(matches!(stopped, Err(MoveError::Stopped)));
            }
        }
        let port: Arc<dyn Store> = store.clone();
        *self.at.lock().unwrap() = Stay { store: Some(store), number, here: Some(here), next: Some(next) };
        port
    }
}

#[async_trait]
impl StoreFactory for Journey {
    async fn open(&self) -> Arc<dyn Store> {
        let here = (self.next)();
        let store = here.open().await;
        self.stay(here, store, 0).await
    }

    async fn reopen(&self, port: Arc<dyn Store>) -> Arc<dyn Store> {
        drop(port);
        let Stay { store, number, here, next } = std::mem::take(&mut *self.at.lock().unwrap());
        let (source, next) = (store.unwrap(), next.unwrap());
        let target = next.open().await;
        let remembered = expiries(&*source).await;
        mover(&source, &target, number).run().await.unwrap();
        assert!(source.health().is_err(), "it can still be written to");
        // What was moved is there also for those who open it later.
        drop((source, here, target));
        let store = next.open().await;
        forget_again(&*store, &remembered).await;
        self.stay(next, store, number + 1).await
    }

    fn keeps_change_times(&self) -> bool {
        false
    }
}

pub(crate) fn mover(
    source: &Arc<dyn TransferStore>,
    target: &Arc<dyn TransferStore>,
    number: usize,
) -> Mover {
    controlled(source, target, number, Arc::default())
}

pub(crate) fn controlled(
    source: &Arc<dyn TransferStore>,
    target: &Arc<dyn TransferStore>,
    number: usize,
    control: Arc<Control>,
) -> Mover {
    let (from, to) = (format!("place {number}"), format!("place {}", number + 1));
    Mover::new(source.clone(), target.clone(), from, to, control)
}

/// What servers do: everybody comes first, since nobody talks who has no account.
pub(crate) fn with_everybody(ops: Vec<Op>) -> Vec<Op> {
    let everybody = (0..USERS).map(|user| Op::CreateUser { user, handle: user, subject: None, name: user });
    everybody.chain(ops).collect()
}

/// Every message that is to disappear, whenever that is.
async fn expiries(store: &dyn TransferStore) -> BTreeSet<(Timestamp, ConversationId, Seq)> {
    let due = store.due_expiries(Timestamp::from_millis(i64::MAX / 2), EXPIRIES_MAX).await.unwrap();
    assert!(due.len() < EXPIRIES_MAX, "there are more");
    due.into_iter().map(|due| (due.at, due.conversation, due.seq)).collect()
}

/// What was forgotten, because it was done, comes again with a move, and servers find it done and forget it again. That is done
/// here for them.
async fn forget_again(moved: &dyn TransferStore, remembered: &BTreeSet<(Timestamp, ConversationId, Seq)>) {
    let all = expiries(moved).await;
    assert!(all.is_superset(remembered), "a move forgets nothing: {remembered:?}, and then {all:?}");
    let again = all.difference(remembered);
    let again: Vec<_> = again.map(|&(at, conversation, seq)| DueExpiry { at, conversation, seq }).collect();
    moved.forget_expiries(&again).await.unwrap();
}
