//! What operations in a transaction see and change.

use std::collections::HashSet;

use super::super::rows::{DEVICE, Key};
use super::super::snapshot::{Snapshot, Unknown, Want};
use super::super::txn::{Stop, Txn};
use super::memory::{MemoryAccount, USER};
use crate::cql::unavailable;

const fn device(id: i64) -> Key {
    Key { kind: DEVICE, id }
}

fn put(account: &mut MemoryAccount, ids: impl IntoIterator<Item = i64>) {
    for id in ids {
        let run = |txn: &mut Txn<'_>| {
            txn.put(device(id), &id);
            Ok(())
        };
        account.write(run).unwrap();
    }
}

#[test]
fn operations_see_earlier_changes_and_failed_ones_leave_none() {
    let mut account = MemoryAccount::default();
    put(&mut account, [1]);
    let snapshot = account.read(None, &HashSet::from([Want::all(DEVICE)]));
    let mut txn = Txn::new(USER, &snapshot);

    let (_, changed) = txn.run(|txn| {
        txn.put(device(1), &7);
        txn.head_mut().blocks = 5;
        Ok(())
    });
    assert!(changed);
    let (failed, changed) = txn.run(|txn| {
        txn.put(device(1), &9);
        txn.put(device(2), &9);
        txn.head_mut().blocks = 9;
        Err::<(), _>(Stop::Failed(unavailable("test", "no")))
    });
    assert!(failed.is_err() && !changed);
    let (seen, changed) = txn.run(|txn| Ok((txn.all::<i64>(DEVICE)?, txn.head().blocks)));
    assert_eq!(seen.unwrap(), (vec![(device(1), 7)], 5));
    assert!(!changed, "looking changes nothing");

    let changes = txn.end().unwrap();
    assert_eq!(changes.head.blocks, 5);
    assert_eq!(changes.rows.into_keys().collect::<Vec<_>>(), [device(1)]);
}

#[test]
fn listed_rows_include_added_and_exclude_removed_ones() {
    let mut account = MemoryAccount::default();
    put(&mut account, [1, 3, 5]);
    let listed = account.write(|txn| {
        txn.put(device(4), &4);
        txn.remove(device(3));
        txn.all::<i64>(DEVICE)
    });
    assert_eq!(listed.unwrap(), [(device(1), 1), (device(4), 4), (device(5), 5)]);
}

#[test]
fn the_first_row_is_found_after_many_removed_ones() {
    let mut account = MemoryAccount::default();
    put(&mut account, 0..100);
    let first = |id: i64| move |txn: &mut Txn<'_>| txn.first_from::<i64>(device(id));
    assert_eq!(account.write(first(40)).unwrap(), Some((device(40), 40)));
    assert_eq!(account.write(first(100)).unwrap(), None);
    let past_many = |txn: &mut Txn<'_>| {
        (40..70).for_each(|id| txn.remove(device(id)));
        txn.first_from::<i64>(device(40))
    };
    assert_eq!(account.write(past_many).unwrap(), Some((device(70), 70)));
    let past_all = |txn: &mut Txn<'_>| {
        (40..100).for_each(|id| txn.remove(device(id)));
        txn.first_from::<i64>(device(40))
    };
    assert_eq!(account.write(past_all).unwrap(), None);
}

#[test]
fn rows_of_two_revisions_are_not_combined() {
    let mut account = MemoryAccount::default();
    let wants = HashSet::from([Want::Row(device(1))]);
    let of_nobody = account.read(None, &wants);
    put(&mut account, [1]);
    let more = HashSet::from([Want::Row(device(2))]);
    let read_more = |known: Snapshot, account: &mut MemoryAccount| {
        let unknown = Unknown::among(&more, Some(&known));
        let (by_key, by_scan) = account.answer(&unknown);
        Snapshot::with(Some(known), unknown, by_key, by_scan)
    };
    assert!(read_more(of_nobody, &mut account).is_none(), "the account came to be between the two");
    let first = account.read(None, &wants);
    put(&mut account, [1]);
    assert!(read_more(first, &mut account).is_none(), "it changed between the two");
    let second = account.read(None, &wants);
    assert!(read_more(second, &mut account).is_some());
}
