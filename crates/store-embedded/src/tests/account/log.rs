//! The compaction of the account log, and the limit of its length.

use std::sync::Arc;

use godwit_domain::model::{AccountChange, AccountEntry, AccountNote};
use godwit_domain::ports::InboxStore;
use godwit_protocol::limits::ACCOUNT_LOG_ENTRIES_MAX;
use godwit_protocol::{DeviceId, Timestamp, UserId};

use super::Site;
use crate::engine::Direction;
use crate::txn::Txn;
use crate::{EmbeddedStore, account, keys};

const USER: UserId = UserId::new(7);

/// Notes about devices with these numbers, in one transaction.
async fn note(store: &EmbeddedStore, devices: std::ops::Range<u64>) -> Vec<AccountEntry> {
    let note = |device| AccountNote {
        user_id: USER,
        at: Timestamp::from_millis(device as i64),
        change: AccountChange::DeviceAdded(DeviceId::new(device)),
    };
    let write =
        move |txn: &mut Txn<'_>| devices.map(|device| account::log::note(txn, note(device))).collect();
    store.write("note", write).await.unwrap()
}

#[tokio::test]
async fn a_full_log_drops_its_oldest_entry_and_reports_the_gap() {
    let site = Site::new();
    let store = site.open();
    let max = ACCOUNT_LOG_ENTRIES_MAX as u64;
    note(&store, 0..max).await;
    assert_eq!(store.account_log(USER, 0, 1).await.unwrap().unwrap()[0].seq, 1, "it is full, and whole");
    // A replaced entry does not make the log longer.
    note(&store, 5..6).await;
    assert_eq!(store.account_log(USER, 0, 1).await.unwrap().unwrap()[0].seq, 1);
    note(&store, max..max + 3).await;
    for after in 0..3 {
        assert_eq!(store.account_log(USER, after, 1).await.unwrap(), None, "after {after} there were more");
    }
    let rest = store.account_log(USER, 3, usize::MAX).await.unwrap().unwrap();
    assert_eq!(rest.len(), ACCOUNT_LOG_ENTRIES_MAX);
    assert_eq!(rest.iter().map(|entry| entry.seq).find(|seq| *seq == 6), None, "the replaced one is gone");
    assert_eq!(store.account_head(USER).await.unwrap(), max + 4);
    assert_eq!(store.account_log(USER, max + 4, 10).await.unwrap(), Some(vec![]));
    assert_eq!(store.account_log(USER, max + 5, 10).await.unwrap(), None, "that is in the future");
}

#[tokio::test]
async fn a_new_entry_about_a_dropped_subject_is_added() {
    let site = Site::new();
    let store = site.open();
    let max = ACCOUNT_LOG_ENTRIES_MAX as u64;
    note(&store, 0..max + 1).await;
    note(&store, 0..1).await;
    note(&store, 0..1).await;
    let entries = store.account_log(USER, 2, usize::MAX).await.unwrap().unwrap();
    assert_eq!(entries.len(), ACCOUNT_LOG_ENTRIES_MAX);
    let rows = store
        .engine
        .view()
        .page(&keys::account_entries_after(USER, 0), Direction::Forward, usize::MAX)
        .unwrap();
    assert_eq!(rows.len(), ACCOUNT_LOG_ENTRIES_MAX, "and nothing is left that nobody can read");
}

#[tokio::test]
async fn a_log_continues_after_a_restart() {
    let site = Site::new();
    let mut expected = Vec::new();
    for round in 0..3 {
        let store = site.open();
        expected.extend(note(&store, round * 10..round * 10 + 3).await);
        assert_eq!(store.account_log(USER, 0, 100).await.unwrap().unwrap(), expected);
        assert_eq!(Arc::strong_count(&store), 1);
    }
    assert!(expected.is_sorted_by_key(|entry| entry.seq));
}
