//! Reads and writes that only a transfer uses.

use godwit_domain::model::{AccountChange, AccountEntry, AccountNote, ClientId, Cursor, Kind};
use godwit_domain::ports::{
    AccountLog, ConversationStore, Creation, CursorMove, InboxStore, Store, Trail, TransferStore,
};
use godwit_protocol::{ConversationId, DeviceId, Seq, Timestamp, UserId};
use godwit_testkit::Scene;
use godwit_testkit::paging::all_pages;

use super::super::{Site, scene};
use super::LIMIT;
use crate::read::Read;
use crate::{EmbeddedStore, account, keys};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn cursor(delivered: u64, read: u64) -> Cursor {
    Cursor { delivered: Seq::new(delivered), read: Seq::new(read), read_ordinal: read }
}

fn moves(moves: &[(u64, i64)]) -> Vec<(Seq, Timestamp)> {
    moves.iter().map(|(seq, ms)| (Seq::new(*seq), at(*ms))).collect()
}

async fn trails(store: &EmbeddedStore, id: ConversationId, limit: usize) -> Vec<Trail> {
    let page = |after| store.trails(id, after, limit);
    all_pages(limit, |trail: &Trail| trail.user_id, page).await.unwrap()
}

#[tokio::test]
async fn all_conversations_are_listed_in_pages() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let mut made = Vec::new();
    for members in [2, 1, 3] {
        made.push(s.chat().await.unwrap().id);
        made.push(s.group(members).await.unwrap().id);
    }
    for limit in [1, 4, 6, 7] {
        let page = |after| store.all_conversations(after, limit);
        assert_eq!(all_pages(limit, |id: &ConversationId| *id, page).await.unwrap(), made);
    }
}

#[tokio::test]
async fn creations_are_found_and_listed_by_key() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let mut made = Vec::new();
    for by in s.people(2) {
        for key in ["a", "ab", "b"] {
            let key = ClientId::from_stored(key);
            let new = s.new_group(Kind::Group, &[by]);
            let conversation = store.create(new, Some(&key)).await.unwrap().id;
            assert_eq!(
                store.creation(by, &key).await.unwrap(),
                Some(Creation { by, key: key.clone(), conversation })
            );
            made.push(Creation { by, key, conversation });
        }
    }
    for limit in [1, 4, 6, 7] {
        let mut found: Vec<Creation> = Vec::new();
        loop {
            let page = store.all_creations(found.last(), limit).await.unwrap();
            let is_last = page.len() < limit;
            found.extend(page);
            if is_last {
                break;
            }
        }
        assert_eq!(found, made);
    }

    let put = Creation { key: ClientId::from_stored("put"), ..made[0].clone() };
    assert_eq!(store.creation(put.by, &put.key).await.unwrap(), None);
    for _ in 0..2 {
        store.put_creation(put.clone()).await.unwrap();
        assert_eq!(store.creation(put.by, &put.key).await.unwrap().as_ref(), Some(&put));
    }
    let again = store.create(s.new_group(Kind::Group, &[put.by]), Some(&put.key)).await.unwrap();
    assert_eq!((again.id, again.made), (put.conversation, None));
}

/// A group of four: the owner has sent, one has only received, one has read and left, one has done nothing.
async fn travelled(s: &Scene, store: &EmbeddedStore) -> (ConversationId, Vec<Trail>) {
    let group = s.group(4).await.unwrap();
    let [owner, receiver, leaver, _] = group.members[..] else { panic!("there are four") };
    s.send(group.id, owner, "m").await.unwrap();
    let moved = |user_id, cursor, ms| CursorMove { conversation: group.id, user_id, cursor, at: at(ms) };
    store.move_cursors(&[moved(receiver, cursor(1, 0), 10)]).await.unwrap();
    store.move_cursors(&[moved(receiver, cursor(2, 0), 20), moved(leaver, cursor(2, 1), 20)]).await.unwrap();
    let sent_at = s.now().as_millis();
    s.append(s.batch(group.id).await.unwrap().leave(leaver).build()).await.unwrap();
    let trail = |user_id, cursor, moved_ms, delivered: &[_], read: &[_]| Trail {
        user_id,
        cursor,
        moved_at: at(moved_ms),
        delivered: moves(delivered),
        read: moves(read),
    };
    let expected = vec![
        trail(owner, Cursor { read_ordinal: 1, ..cursor(2, 2) }, sent_at, &[(2, sent_at)], &[(2, sent_at)]),
        trail(receiver, cursor(2, 0), 20, &[(1, 10), (2, 20)], &[]),
        trail(leaver, Cursor::default(), 0, &[(2, 20)], &[(1, 20)]),
    ];
    (group.id, expected)
}

#[tokio::test]
async fn trails_include_former_members() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let (id, expected) = travelled(&s, &store).await;
    for limit in [1, 2, 3, 4] {
        assert_eq!(trails(&store, id, limit).await, expected, "in pages of {limit}");
    }
    assert_eq!(trails(&store, s.group(2).await.unwrap().id, LIMIT).await, []);
}

#[tokio::test]
async fn trails_are_merged_into_existing_ones() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let group = s.group(3).await.unwrap();
    let [_, ahead, behind] = group.members[..] else { panic!("there are three") };
    let by = |user_id, cursor| CursorMove { conversation: group.id, user_id, cursor, at: at(5) };
    store.move_cursors(&[by(ahead, cursor(9, 8)), by(behind, cursor(2, 1))]).await.unwrap();
    let heads = [store.account_head(ahead).await.unwrap(), store.account_head(behind).await.unwrap()];
    let put = |user_id| Trail {
        user_id,
        cursor: cursor(7, 6),
        moved_at: at(5),
        delivered: moves(&[(3, 1), (7, 2)]),
        read: moves(&[(6, 3)]),
    };
    let stranger = UserId::new(s.id());
    for _ in 0..2 {
        let left = Trail { cursor: Cursor::default(), moved_at: at(0), ..put(stranger) };
        store.put_trails(group.id, vec![put(behind), put(ahead), left.clone()]).await.unwrap();
        let expected = [
            Trail {
                cursor: cursor(9, 8),
                delivered: moves(&[(3, 1), (7, 2), (9, 5)]),
                read: moves(&[(6, 3), (8, 5)]),
                ..put(ahead)
            },
            Trail {
                delivered: moves(&[(2, 5), (3, 1), (7, 2)]),
                read: moves(&[(1, 5), (6, 3)]),
                ..put(behind)
            },
            left,
        ];
        assert_eq!(trails(&store, group.id, LIMIT).await, expected);
    }
    assert_eq!(s.member(group.id, behind).await.unwrap().cursor, cursor(7, 6));
    assert_eq!(s.member(group.id, ahead).await.unwrap().cursor, cursor(9, 8));
    let heads_after = [store.account_head(ahead).await.unwrap(), store.account_head(behind).await.unwrap()];
    assert_eq!(heads_after, heads, "nothing is noted");
}

fn device_added(seq: u64, device: u64) -> AccountEntry {
    AccountEntry { seq, at: at(7), change: AccountChange::DeviceAdded(DeviceId::new(device)) }
}

#[tokio::test]
async fn an_account_log_replaces_another() {
    let site = Site::new();
    let store = site.open();
    let user = UserId::new(7);
    assert_eq!(store.account_log_of(user).await.unwrap(), AccountLog::default());
    let note = move |device| AccountNote { user_id: user, at: at(7), change: device_added(0, device).change };
    for device in [1, 2, 1] {
        store.write("note", move |txn| account::log::note(txn, note(device))).await.unwrap();
    }
    let noted = AccountLog { last: 3, floor: 0, entries: vec![device_added(2, 2), device_added(3, 1)] };
    assert_eq!(store.account_log_of(user).await.unwrap(), noted);

    let other = AccountLog { last: 9, floor: 4, entries: vec![device_added(5, 2), device_added(8, 3)] };
    for _ in 0..2 {
        store.put_account_log(user, other.clone()).await.unwrap();
        assert_eq!(store.account_log_of(user).await.unwrap(), other);
    }
    let subjects = store.engine.view().all(&keys::account_subjects(user)).unwrap();
    assert_eq!(subjects.len(), 2, "that of device 1 is gone");
    assert_eq!(store.account_log(user, 3, LIMIT).await.unwrap(), None, "it says what is missing");
    // The copied log behaves like the original: the entry about device 3 is replaced, and no other.
    store.write("note", move |txn| account::log::note(txn, note(3))).await.unwrap();
    let entries = vec![device_added(5, 2), device_added(10, 3)];
    assert_eq!(store.account_log_of(user).await.unwrap(), AccountLog { last: 10, floor: 4, entries });
    assert_eq!(account::log::head(&store.engine.view(), user).unwrap().count, 2);

    store.put_account_log(user, AccountLog::default()).await.unwrap();
    assert_eq!(store.account_log_of(user).await.unwrap(), AccountLog::default());
}

#[tokio::test]
async fn ids_begin_after_those_of_another_store() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let far = store.ids().next().unwrap() + (1 << 60);
    // Neither a lower id nor a later write lowers it.
    for floor in [far, far, 1] {
        store.begin_ids_after(floor).await.unwrap();
        s.user().await.unwrap();
    }
    assert!(store.highest_id().await.unwrap() >= far);
    drop((s, store));
    let store = site.open();
    assert!(store.highest_id().await.unwrap() >= far);
    let id = store.ids().next().unwrap();
    assert!(id > far, "{id} after {far}");
    assert_eq!(store.highest_id().await.unwrap(), id);
}
