//! A disk that is almost full: the store refuses writes in time, answers reads, and goes on when there is room.

use std::sync::atomic::Ordering;

use godwit_domain::model::{AccountChange, AccountNote, SettingsChange};
use godwit_domain::ports::{ConversationStore, InboxStore, Store, StoreError, UserStore};
use godwit_protocol::{Seq, Timestamp};

use super::{Site, scene};

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
    // No room: nothing is written, and everything can be read.
    state.free_bytes_min.store(u64::MAX, Ordering::Relaxed);
    assert!(matches!(setting().await, Err(StoreError::Full)));
    store.health().expect("it goes on");
    let entries = store.entries(chat.id, Seq::ZERO, 10).await.unwrap();
    assert_eq!(entries.len(), 2, "the creation and one message");
    // Room again.
    state.free_bytes_min.store(0, Ordering::Relaxed);
    say("accepted").await.unwrap();
    setting().await.unwrap();
    store.close().await.unwrap();
}
