//! Group commit: one fsync for many writes, no answer before it, and no write suffers from the failure of
//! another.

use std::sync::Arc;
use std::sync::mpsc;

use godwit_domain::model::{Handle, User};
use godwit_domain::ports::{AppendOutcome, ConversationStore, CreateUser, Store, StoreError, UserStore};
use godwit_protocol::{Timestamp, UserId};
use tokio::task::JoinHandle;

use super::{Site, scene};
use crate::keys::{Key, Table};
use crate::read::Read;
use crate::txn::Txn;
use crate::{EmbeddedStore, Options};

fn row(number: u64) -> Key {
    Key { table: Table::Index, bytes: number.to_be_bytes().into() }
}

fn put(number: u64) -> impl FnOnce(&mut Txn<'_>) -> Result<(), StoreError> + Send + 'static {
    move |txn| {
        txn.put(row(number), [1].into());
        Ok(())
    }
}

fn is_stored(store: &EmbeddedStore, number: u64) -> bool {
    store.engine.view().contains(&row(number)).unwrap()
}

/// Blocks the committer, so that the writes requested meanwhile become one group.
pub(in crate::tests) struct Hold {
    release: mpsc::Sender<()>,
    held: JoinHandle<Result<(), StoreError>>,
}

impl Hold {
    pub(in crate::tests) async fn new(store: &Arc<EmbeddedStore>) -> Self {
        let (release, wait) = mpsc::channel();
        let (begin, has_begun) = tokio::sync::oneshot::channel();
        let store = Arc::clone(store);
        let write = move |_: &mut Txn<'_>| {
            let _ = begin.send(());
            let _ = wait.recv();
            Ok(())
        };
        let held = tokio::spawn(async move { store.write("hold", write).await });
        has_begun.await.unwrap();
        Self { release, held }
    }

    pub(in crate::tests) async fn release(self) {
        self.release.send(()).unwrap();
        self.held.await.unwrap().unwrap();
    }
}

fn spawn<T: Send + 'static>(
    store: &Arc<EmbeddedStore>,
    write: impl FnOnce(&mut Txn<'_>) -> Result<T, StoreError> + Send + 'static,
) -> JoinHandle<Result<T, StoreError>> {
    let store = Arc::clone(store);
    tokio::spawn(async move { store.write("test", write).await })
}

pub(in crate::tests) async fn wait_for_queue(store: &EmbeddedStore, depth: usize) {
    while store.stats().queue_depth < depth {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn writes_that_wait_share_one_fsync() {
    let site = Site::new();
    let store = site.open();
    let hold = Hold::new(&store).await;
    let writes: Vec<_> = (0..200).map(|number| spawn(&store, put(number))).collect();
    wait_for_queue(&store, 200).await;
    hold.release().await;
    for write in writes {
        write.await.unwrap().unwrap();
    }
    assert!((0..200).all(|number| is_stored(&store, number)));
    assert_eq!(store.stats().fsyncs, 1);
}

#[tokio::test]
async fn a_group_is_bounded() {
    for (options, groups) in [
        (Options { group_requests_max: 10, ..Options::default() }, 10),
        (Options { group_bytes_max: 25 * 9, ..Options::default() }, 4),
    ] {
        let site = Site::new();
        let store = Arc::new(site.try_open(options).unwrap());
        let hold = Hold::new(&store).await;
        let writes: Vec<_> = (0..100).map(|number| spawn(&store, put(number))).collect();
        wait_for_queue(&store, 100).await;
        hold.release().await;
        for write in writes {
            write.await.unwrap().unwrap();
        }
        // The first group has the write that blocked the committer, which changed nothing.
        let fsyncs = store.stats().fsyncs;
        assert!((groups..=groups + 1).contains(&fsyncs), "{fsyncs} groups with {options:?}");
    }
}

#[tokio::test]
async fn a_full_queue_makes_callers_wait_and_loses_no_write() {
    let site = Site::new();
    let store = Arc::new(site.try_open(Options { queue_requests_max: 4, ..Options::default() }).unwrap());
    let hold = Hold::new(&store).await;
    let writes: Vec<_> = (0..50).map(|number| spawn(&store, put(number))).collect();
    wait_for_queue(&store, 4).await;
    assert_eq!(store.stats().queue_depth, 4);
    hold.release().await;
    for write in writes {
        write.await.unwrap().unwrap();
    }
    assert!((0..50).all(|number| is_stored(&store, number)));
}

#[tokio::test]
async fn a_refused_write_is_rolled_back_and_its_group_commits() {
    let site = Site::new();
    let store = site.open();
    let hold = Hold::new(&store).await;
    let before = spawn(&store, put(1));
    wait_for_queue(&store, 1).await;
    let refused = spawn(&store, |txn| {
        put(2)(txn)?;
        txn.remove(row(1));
        Err::<(), _>(StoreError::Stopped)
    });
    wait_for_queue(&store, 2).await;
    let after = spawn(&store, |txn| {
        put(3)(txn)?;
        Ok((txn.contains(&row(1))?, txn.contains(&row(2))?))
    });
    wait_for_queue(&store, 3).await;
    hold.release().await;
    before.await.unwrap().unwrap();
    refused.await.unwrap().unwrap_err();
    assert_eq!(
        after.await.unwrap().unwrap(),
        (true, false),
        "a write sees those before it and not the refused one"
    );
    assert_eq!([1, 2, 3].map(|number| is_stored(&store, number)), [true, false, true]);
    assert_eq!(store.stats().fsyncs, 1);
    store.health().unwrap();
}

#[tokio::test]
async fn a_panicking_write_is_rolled_back_and_the_store_continues() {
    let site = Site::new();
    let store = site.open();
    let hold = Hold::new(&store).await;
    let panicking = spawn(&store, |txn| {
        put(1)(txn)?;
        assert!(!txn.contains(&row(1))?, "a bug");
        Ok(())
    });
    wait_for_queue(&store, 1).await;
    let other = spawn(&store, put(2));
    wait_for_queue(&store, 2).await;
    hold.release().await;
    let error = panicking.await.unwrap().unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { operation: "test", .. }), "{error:?}");
    other.await.unwrap().unwrap();
    assert_eq!([1, 2].map(|number| is_stored(&store, number)), [false, true]);
    store.write("test", put(3)).await.unwrap();
    store.health().unwrap();
}

#[tokio::test]
async fn a_write_happens_even_if_its_caller_gives_up() {
    let site = Site::new();
    let store = site.open();
    let hold = Hold::new(&store).await;
    let write = spawn(&store, put(1));
    wait_for_queue(&store, 1).await;
    write.abort();
    hold.release().await;
    store.write("test", |_| Ok(())).await.unwrap();
    assert!(is_stored(&store, 1));
}

#[tokio::test]
async fn a_transaction_without_writes_costs_no_fsync() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    let late = s.batch(chat.id).await.unwrap().text(chat.ada, "late").build();
    s.send(chat.id, chat.bob, "first").await.unwrap();
    let fsyncs = store.stats().fsyncs;
    assert_eq!(store.append(&late).await.unwrap(), AppendOutcome::HeadMoved);
    assert_eq!(store.move_cursors(&[]).await.unwrap(), []);
    store.signing_key([1; 32]).await.unwrap();
    assert_eq!(store.stats().fsyncs, fsyncs + 1, "the first signing key");
    assert_eq!(store.signing_key([2; 32]).await.unwrap(), [1; 32]);
    assert_eq!(store.stats().fsyncs, fsyncs + 1);
}

/// Both are in one group, so the second is refused because of a row of the first that is not committed yet.
#[tokio::test]
async fn uniqueness_holds_within_a_group() {
    let site = Site::new();
    let store = site.open();
    let hold = Hold::new(&store).await;
    let users = [1, 2].map(|id| {
        let handle = Handle::from_stored("ada");
        let user = User::new(UserId::new(id), handle, Timestamp::from_millis(0));
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.create_user(user).await })
    });
    wait_for_queue(&store, 2).await;
    hold.release().await;
    let mut outcomes = Vec::new();
    for user in users {
        outcomes.push(user.await.unwrap().unwrap());
    }
    outcomes.sort_by_key(|outcome| *outcome == CreateUser::HandleTaken);
    assert_eq!(outcomes, [CreateUser::Created, CreateUser::HandleTaken]);
    assert_eq!(store.stats().fsyncs, 1);
}
