//! Stopping and starting: after a clean stop, after a drop, and after a kill.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use godwit_domain::model::Handle;
use godwit_domain::ports::{ConversationStore, Store, StoreError, UserChange, UserStore};
use godwit_protocol::{MessageId, Seq};

use super::{Site, listed, scene};

/// Simulates a kill: copies the files as they are, while the process still runs.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[tokio::test]
async fn acknowledged_writes_survive_a_kill() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    for messages in 1..20 {
        s.send(chat.id, chat.ada, &format!("m{messages}")).await.unwrap();
        if messages % 5 == 0 {
            let killed = Site::new();
            copy_folder(site.path(), killed.path());
            let copy = killed.open();
            let entries = copy.entries(chat.id, Seq::ZERO, 100).await.unwrap();
            assert_eq!(entries.len(), 1 + messages, "the first entry, and a message each");
            scene(&copy).send(chat.id, chat.bob, "it goes on").await.unwrap();
        }
    }
}

#[tokio::test]
async fn acknowledged_writes_survive_a_drop() {
    let site = Site::new();
    let chat = scene(&site.open()).chat().await.unwrap();
    for number in 0..5 {
        let message = scene(&site.open()).send(chat.id, chat.ada, &format!("m{number}")).await.unwrap();
        let place = site.open().locate(MessageId::new(message.id)).await.unwrap();
        assert_eq!(place, Some((chat.id, message.seq)));
    }
}

/// After a clean stop no journal is replayed. If the engine forgot its own sequence numbers, a later write
/// would lose against an earlier one of the same key.
#[tokio::test]
async fn later_writes_win_after_a_clean_stop() {
    let site = Site::new();
    let mut user = None;
    for round in 0..4 {
        let store = site.open();
        let s = scene(&store);
        let id = match user {
            None => s.user().await.unwrap(),
            Some(id) => id,
        };
        let chat = s.chat().await.unwrap();
        s.send(chat.id, chat.ada, "hello").await.unwrap();
        let handle = |round: u32| Handle::from_stored(format!("round{round}"));
        let change = UserChange { handle: Some(handle(round)), ..UserChange::default() };
        store.update_user(id, change, None).await.unwrap();
        if round > 0 {
            assert_eq!(
                store.user_by_handle(&handle(round - 1)).await.unwrap(),
                None,
                "the old one was removed"
            );
        }
        if round % 2 == 0 {
            store.close().await.unwrap();
        }
        drop((s, store));
        let store = site.open();
        assert_eq!(store.user(id).await.unwrap().unwrap().handle, handle(round));
        assert_eq!(listed(&store, chat.ada).await, [chat.id]);
        user = Some(id);
    }
}

#[tokio::test]
async fn a_closed_store_reads_and_refuses_to_write() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    let waiting: Vec<_> = (0..50)
        .map(|_| {
            let (store, user) = (Arc::clone(&store), s.new_user());
            tokio::spawn(async move { store.create_user(user).await })
        })
        .collect();
    while store.stats().queue_depth == 0 && store.stats().fsyncs < 5 {
        tokio::task::yield_now().await;
    }
    store.close().await.unwrap();
    store.close().await.unwrap();
    for write in waiting {
        // Each write is made or refused as a whole, and every caller gets an answer.
        if let Err(error) = write.await.unwrap() {
            assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
        }
    }
    let error = store.create_user(s.new_user()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { operation: "create a user", .. }), "{error:?}");
    assert_eq!(listed(&store, chat.ada).await, [chat.id]);
    store.health().unwrap();
}

#[tokio::test]
async fn ids_do_not_go_back_if_the_clock_does() {
    let site = Site::new();
    let mut highest = 0;
    for is_closed in [true, false, true, false] {
        let store = site.open();
        for _ in 0..3 {
            let id = store.ids().next().unwrap();
            assert!(id > highest, "{id} after {highest}");
            highest = id;
        }
        // Something with the id is stored. Otherwise the id could be given out again without harm.
        scene(&store).user().await.unwrap();
        if is_closed {
            store.close().await.unwrap();
        }
        site.clock.advance_ms(-3_600_000);
    }
}
