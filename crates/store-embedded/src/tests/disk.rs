//! A disk that is almost full: the store refuses writes in time, answers reads, and goes on when there is room.

#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::sync::atomic::Ordering;

use godwit_domain::model::{AccountChange, AccountNote, SettingsChange};
use godwit_domain::ports::{ConversationStore, InboxStore, Store, StoreError, UserStore};
use godwit_protocol::{Seq, Timestamp};

use super::{Site, scene};
#[cfg(target_os = "linux")]
use crate::{Options, engine::Table};

#[tokio::test]
async fn a_disk_that_is_almost_full_costs_writes_and_not_reads() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    let state = store.committer.state();
    let setting = || {
        let change = AccountChange::SettingsChanged(chat.id);
        let note = AccountNote { user_id: chat.ada, at: Timestamp::from_millis(1), change };
        let archived = SettingsChange { archived: Some(true), ..SettingsChange::default() };
        store.change_settings(chat.ada, chat.id, archived, note)
    };
    let say = async |text: &str| {
        let append = s.batch(chat.id).await.unwrap().text(chat.ada, text).build();
        store.append(&append).await
    };
    say("hello").await.unwrap();
    let free = store.stats().disk_free_bytes;
    assert!(free < u64::MAX, "it has looked");
    // Little room: people store nothing new, and what keeps them connected goes on.
    state.free_bytes_min.store(free / 2 * 3, Ordering::Relaxed);
    assert!(matches!(say("refused").await, Err(StoreError::Full)));
    assert!(matches!(store.create_user(s.new_user()).await, Err(StoreError::Full)));
    setting().await.unwrap();
    let batch = async || s.batch_on(chat.id, &[Seq::new(2)]).await.unwrap();
    let deletion = batch().await.delete(chat.ada, Seq::new(2)).build();
    store.append(&deletion).await.expect("people can make room");
    let both = batch().await.text(chat.ada, "more").delete(chat.ada, Seq::new(2)).build();
    assert!(matches!(store.append(&both).await, Err(StoreError::Full)));
    // No room: nothing is written, and everything can be read.
    state.free_bytes_min.store(u64::MAX, Ordering::Relaxed);
    assert!(matches!(setting().await, Err(StoreError::Full)));
    store.health().expect("it goes on");
    let entries = store.entries(chat.id, Seq::ZERO, 10).await.unwrap();
    assert_eq!(entries.len(), 3, "the creation, one message and its deletion");
    // Room again.
    state.free_bytes_min.store(0, Ordering::Relaxed);
    say("accepted").await.unwrap();
    setting().await.unwrap();
    store.close().await.unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_that_cannot_take_tables_costs_writes_until_there_is_room() {
    const SENDS_MAX: usize = 10_000;
    let site = Site::new();
    let options = Options { memtable_bytes_max: 64 * 1024, free_disk_bytes_min: 0, ..Options::default() };
    let store = Arc::new(site.try_open(options).unwrap());
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    let full = store.engine.version_file(Table::Log, 0);
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let say = async |number: usize| {
        let append = s.batch(chat.id).await.unwrap().text(chat.ada, &format!("{number:0>4000}")).build();
        store.append(&append).await
    };
    let mut said = 0;
    let refusal = loop {
        match say(said).await {
            Ok(_) => said += 1,
            Err(error) => break error,
        }
        assert!(said < SENDS_MAX, "the full disk is not noticed");
    };
    assert!(matches!(refusal, StoreError::Full), "{refusal:?}");
    store.health().expect("it goes on");
    assert_eq!(store.entries(chat.id, Seq::ZERO, usize::MAX / 2).await.unwrap().len(), said + 1);
    std::fs::remove_file(full).unwrap();
    for tries in 0.. {
        match say(said).await {
            Ok(_) => break,
            Err(error) => assert!(matches!(error, StoreError::Full) && tries < SENDS_MAX, "{error:?}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    assert_eq!(store.entries(chat.id, Seq::ZERO, usize::MAX / 2).await.unwrap().len(), said + 2);
    store.close().await.unwrap();
}
