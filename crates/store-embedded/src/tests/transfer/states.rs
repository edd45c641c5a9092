//! The effect of the state of a transfer on a store.

use std::error::Error as _;
use std::sync::Arc;

use godwit_domain::ports::{
    ConversationStore, Part, Store, StoreError, TransferState, TransferStore, UserStore,
};
use godwit_protocol::UserId;

use super::super::committer::committing::{Hold, wait_for_queue};
use super::super::{Site, listed, scene};
use super::{LIMIT, changes, held, out, set, some_change};
use crate::transfer::FORGOTTEN_AT_ONCE_MAX;
use crate::txn::Txn;
use crate::{EmbeddedStore, keys};

fn gone() -> TransferState {
    TransferState::Gone { to: "elsewhere".into() }
}

/// Why a write was refused.
fn refusal(outcome: Result<impl Sized, StoreError>) -> String {
    match outcome.map(drop) {
        Err(error @ StoreError::Unavailable { .. }) => error.source().unwrap().to_string(),
        other => panic!("it was not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_state_changes_only_from_the_expected_one() {
    let site = Site::new();
    let store = site.open();
    assert_eq!(store.transfer_state().await.unwrap(), TransferState::Not);
    assert_eq!(store.set_transfer_state(&out(), held()).await.unwrap(), TransferState::Not);
    assert_eq!(store.transfer_state().await.unwrap(), TransferState::Not);
    set(&store, TransferState::Not, out()).await;
    let other = TransferState::Out { to: "somewhere".into() };
    assert_eq!(store.set_transfer_state(&other, TransferState::Not).await.unwrap(), out());
    assert_eq!(store.transfer_state().await.unwrap(), out());
}

#[tokio::test]
async fn nothing_is_marked_without_a_transfer_from_this_store() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let filling = TransferState::In { from: "elsewhere".into(), progress: "half".into() };
    for (from, to) in [(TransferState::Not, filling.clone()), (filling, TransferState::Not)] {
        s.chat().await.unwrap();
        set(&store, from, to).await;
    }
    s.chat().await.unwrap();
    assert_eq!(store.changed(LIMIT).await.unwrap().parts, []);
    set(&store, TransferState::Not, out()).await;
    assert_eq!(store.changed(LIMIT).await.unwrap().parts, [], "nor afterwards");
    let user = s.user().await.unwrap();
    assert_eq!(changes(&store).await, [Part::Account(user)]);
}

#[tokio::test]
async fn a_held_store_reads_and_refuses_writes() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    store.signing_key([1; 32]).await.unwrap();
    set(&store, TransferState::Not, out()).await;
    s.send(chat.id, chat.ada, "m").await.unwrap();
    let append = s.batch(chat.id).await.unwrap().text(chat.ada, "too late").build();
    set(&store, out(), held()).await;

    let reason = "the data is being transferred to elsewhere";
    assert_eq!(refusal(store.append(&append).await), reason);
    assert_eq!(refusal(store.create_user(s.new_user()).await), reason);
    assert_eq!(refusal(store.begin_ids_after(1).await), reason);
    store.health().unwrap();
    assert_eq!(listed(&store, chat.ada).await, [chat.id]);
    assert_eq!(store.load(chat.id).await.unwrap().unwrap().head.seq, append.expected_head);
    assert_eq!(store.signing_key([2; 32]).await.unwrap(), [1; 32]);
    assert_eq!(
        changes(&store).await,
        [Part::Conversation(chat.id), Part::Membership(chat.bob, chat.id), Part::Account(chat.bob)]
    );

    set(&store, held(), out()).await;
    s.append(append).await.unwrap();
    assert_eq!(changes(&store).await, [Part::Conversation(chat.id)], "it goes on where it was");
}

#[tokio::test]
async fn within_a_group_writes_are_refused_after_the_one_that_holds_them() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let hold = Hold::new(&store).await;
    let create = || {
        let (store, user) = (Arc::clone(&store), s.new_user());
        tokio::spawn(async move { store.create_user(user).await })
    };
    let before = create();
    wait_for_queue(&store, 1).await;
    let holding = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.set_transfer_state(&TransferState::Not, held()).await }
    });
    wait_for_queue(&store, 2).await;
    let after = create();
    wait_for_queue(&store, 3).await;
    hold.release().await;
    before.await.unwrap().unwrap();
    assert_eq!(holding.await.unwrap().unwrap(), held());
    refusal(after.await.unwrap());
    assert_eq!(store.list_users(None, LIMIT).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_retired_store_is_unhealthy_and_still_reads() {
    let site = Site::new();
    let store = site.open();
    let chat = scene(&store).chat().await.unwrap();
    set(&store, TransferState::Not, gone()).await;
    assert!(matches!(store.health(), Err(StoreError::Stopped)));
    let user = scene(&store).new_user();
    assert_eq!(refusal(store.create_user(user).await), "the data was transferred to elsewhere");
    assert_eq!(listed(&store, chat.ada).await, [chat.id]);
}

#[tokio::test]
async fn an_abandoned_transfer_removes_its_marks() {
    let site = Site::new();
    let store = site.open();
    set(&store, TransferState::Not, out()).await;
    let many = FORGOTTEN_AT_ONCE_MAX as u64 * 2 + 1;
    store.write("test", move |txn| put_users(txn, many)).await.unwrap();
    assert_eq!(store.changed(usize::MAX).await.unwrap().parts.len() as u64, many);
    set(&store, out(), TransferState::Not).await;
    assert_eq!(store.changed(LIMIT).await.unwrap().parts, []);
    set(&store, TransferState::Not, out()).await;
    assert_eq!(store.changed(LIMIT).await.unwrap().parts, []);
}

fn put_users(txn: &mut Txn<'_>, count: u64) -> Result<(), StoreError> {
    for id in 0..count {
        txn.put(keys::user(UserId::new(id)), [1].into());
    }
    Ok(())
}

async fn touch(store: &EmbeddedStore, user: UserId) {
    store.update_user(user, some_change(), None).await.unwrap();
}

#[tokio::test]
async fn a_transfer_continues_after_reopening() {
    let site = Site::new();
    let store = site.open();
    set(&store, TransferState::Not, out()).await;
    let s = scene(&store);
    let (ada, bob) = (s.user().await.unwrap(), s.user().await.unwrap());
    let taken = store.changed(LIMIT).await.unwrap();
    drop((s, store));

    let store = site.open();
    assert_eq!(store.transfer_state().await.unwrap(), out());
    touch(&store, ada).await;
    store.settled(taken).await.unwrap();
    assert_eq!(store.changed(LIMIT).await.unwrap().parts, [Part::Account(ada)], "it changed after that");
    touch(&store, bob).await;
    set(&store, out(), held()).await;
    drop(store);

    let store = site.open();
    refusal(store.update_user(ada, some_change(), None).await);
    assert_eq!(changes(&store).await, [Part::Account(ada), Part::Account(bob)]);
    set(&store, held(), gone()).await;
    store.close().await.unwrap();
    store.close().await.unwrap();
    drop(store);

    let store = site.open();
    assert!(matches!(store.health(), Err(StoreError::Stopped)));
    assert_eq!(store.transfer_state().await.unwrap(), gone());
    refusal(store.update_user(ada, some_change(), None).await);
}

/// A transferring process that was suspended may settle parts that it took long ago.
#[tokio::test]
async fn parts_of_an_earlier_transfer_do_not_settle_those_of_the_next() {
    let site = Site::new();
    let store = site.open();
    set(&store, TransferState::Not, out()).await;
    let user = scene(&store).user().await.unwrap();
    let taken = store.changed(LIMIT).await.unwrap();
    set(&store, out(), TransferState::Not).await;
    set(&store, TransferState::Not, out()).await;
    touch(&store, user).await;
    store.settled(taken).await.unwrap();
    assert_eq!(store.changed(LIMIT).await.unwrap().parts, [Part::Account(user)]);
}
