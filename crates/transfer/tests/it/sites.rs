//! Sites where a store can be opened, and a journey of transfers from site to site.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use godwit_domain::ports::{DueExpiry, Store, TransferStore};
use godwit_protocol::{ConversationId, Seq, Timestamp};
use godwit_store_embedded::{EmbeddedStore, Options};
use godwit_testkit::replay::ops::{Op, USERS};
use godwit_testkit::{StoreFactory, TestClock};
use godwit_transfer::{Control, Transfer, TransferError};
use tempfile::TempDir;

/// More than all operations of a test create.
const EXPIRIES_MAX: usize = 100_000;

/// A site where a store can be opened repeatedly.
#[async_trait]
pub(crate) trait Site: Send + Sync {
    async fn open(&self) -> Arc<dyn TransferStore>;
}

/// A temporary folder.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

#[async_trait]
impl Site for Folder {
    async fn open(&self) -> Arc<dyn TransferStore> {
        let clock = TestClock::stepping(Timestamp::from_millis(1_800_000_000_000), 15_000);
        let options = Options { cache_bytes: 1 << 20, ..Options::default() };
        Arc::new(EmbeddedStore::open(self.0.path(), Arc::new(clock), options).unwrap())
    }
}

/// When the first pass runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// At the transfer.
    Then,
    /// Before any operation, so that the transfer copies only changes.
    Before,
}

/// Transfers a store from site to site.
pub(crate) struct Journey {
    when: When,
    next: Box<dyn Fn() -> Box<dyn Site> + Send + Sync>,
    at: Mutex<Stay>,
}

/// The present site of the store, and the target of the next transfer.
#[derive(Default)]
struct Stay {
    store: Option<Arc<dyn TransferStore>>,
    number: usize,
    here: Option<Box<dyn Site>>,
    next: Option<Box<dyn Site>>,
}

impl Journey {
    pub(crate) fn new(when: When, next: impl Fn() -> Box<dyn Site> + Send + Sync + 'static) -> Self {
        Self { when, next: Box::new(next), at: Mutex::default() }
    }

    /// Stays at a site, and runs the first pass of the next transfer if that comes before the operations.
    async fn stay(
        &self,
        here: Box<dyn Site>,
        store: Arc<dyn TransferStore>,
        number: usize,
    ) -> Arc<dyn Store> {
        let next = (self.next)();
        if self.when == When::Before {
            let target = next.open().await;
            // Each run stops as soon as it can, and the next one resumes, until the first pass is complete.
            for _ in 0..4 {
                let control = Arc::new(Control::default());
                control.stop();
                let stopped = controlled(&store, &target, number, control).run().await;
                assert!(matches!(stopped, Err(TransferError::Stopped)));
            }
        }
        let port: Arc<dyn Store> = store.clone();
        *self.at.lock().unwrap() = Stay { store: Some(store), number, here: Some(here), next: Some(next) };
        port
    }
}

#[async_trait]
impl StoreFactory for Journey {
    /// A case may contain several transfers, also on Cassandra.
    fn patience(&self) -> Duration {
        Duration::from_secs(120)
    }

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
        transfer(&source, &target, number).run().await.unwrap();
        assert!(source.health().is_err(), "it can still be written to");
        // Reopened, because the data must also be there for a process that opens the store later.
        drop((source, here, target));
        let store = next.open().await;
        forget_again(&*store, &remembered).await;
        self.stay(next, store, number + 1).await
    }

    fn keeps_change_times(&self) -> bool {
        false
    }
}

pub(crate) fn transfer(
    source: &Arc<dyn TransferStore>,
    target: &Arc<dyn TransferStore>,
    number: usize,
) -> Transfer {
    controlled(source, target, number, Arc::default())
}

pub(crate) fn controlled(
    source: &Arc<dyn TransferStore>,
    target: &Arc<dyn TransferStore>,
    number: usize,
    control: Arc<Control>,
) -> Transfer {
    let (from, to) = (format!("place {number}"), format!("place {}", number + 1));
    Transfer::new(source.clone(), target.clone(), from, to, control)
}

/// Creates all users first, as servers do: nobody can act without an account.
pub(crate) fn with_everybody(ops: Vec<Op>) -> Vec<Op> {
    let everybody = (0..USERS).map(|user| Op::CreateUser { user, handle: user, subject: None, name: user });
    everybody.chain(ops).collect()
}

/// All messages that disappear, at whatever time.
async fn expiries(store: &dyn TransferStore) -> BTreeSet<(Timestamp, ConversationId, Seq)> {
    let due = store.due_expiries(Timestamp::from_millis(i64::MAX / 2), EXPIRIES_MAX).await.unwrap();
    assert!(due.len() < EXPIRIES_MAX, "there are more");
    due.into_iter().map(|due| (due.at, due.conversation, due.seq)).collect()
}

/// A transfer brings back expiries that were removed because they were done. Servers would find them done and
/// remove them again, which this does for them.
async fn forget_again(moved: &dyn TransferStore, remembered: &BTreeSet<(Timestamp, ConversationId, Seq)>) {
    let all = expiries(moved).await;
    assert!(all.is_superset(remembered), "a transfer forgets nothing: {remembered:?}, and then {all:?}");
    let again = all.difference(remembered);
    let again: Vec<_> = again.map(|&(at, conversation, seq)| DueExpiry { at, conversation, seq }).collect();
    moved.forget_expiries(again).await.unwrap();
}
