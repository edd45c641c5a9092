//! The copied data.

use godwit_domain::model::{AccountChange, AccountEntry, ClientId, Cursor, Kind};
use godwit_domain::ports::{
    AccountLog, ConversationStore, Creation, CursorMove, InboxStore, Store, Trail, UserStore,
};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::*;

const NOON: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// Tests share the keyspace, because none of them begins a transfer.
async fn stage() -> (Arc<CassandraStore>, Scene, Shared) {
    static KEYSPACE: OnceCell<String> = OnceCell::const_new();
    let cassandra = Cassandra::shared().unwrap();
    let store = open(&cassandra, keyspace(&KEYSPACE, "copied", &cassandra).await).await;
    (store.clone(), Scene::new(vec![store]), cassandra)
}

async fn query(store: &CassandraStore, cql: &str) {
    store.cql.session().query_unpaged(cql, ()).await.unwrap();
}

async fn revision(store: &CassandraStore, user: UserId) -> i64 {
    let read = "SELECT revision FROM accounts WHERE user_id = ? LIMIT 1";
    let read = store.cql.prepare_read(read).await.unwrap();
    store.cql.row::<(i64,)>("test", &read, (user.get() as i64,)).await.unwrap().unwrap().0
}

async fn conversations_in_pages(store: &CassandraStore, limit: usize) -> Vec<ConversationId> {
    let mut all: Vec<ConversationId> = Vec::new();
    loop {
        let page = store.all_conversations(all.last().copied(), limit).await.unwrap();
        let is_last = page.len() < limit;
        all.extend(page);
        if is_last {
            return all;
        }
    }
}

#[tokio::test]
async fn existing_conversations_are_listed_in_pages_of_any_size() {
    let (store, scene, _cassandra) = stage().await;
    let mut expected = BTreeSet::new();
    for members in 1..=5 {
        expected.insert(scene.group(members).await.unwrap().id);
    }
    expected.insert(scene.chat().await.unwrap().id);
    // Creations that crashed before the first entry.
    let unborn: Vec<u64> = (0..5).map(|_| scene.id()).collect();
    for id in &unborn {
        let set = "kind = 'group', created_by = 1, created_at = 1";
        query(&store, &format!("UPDATE conversations SET {set} WHERE conversation_id = {id}")).await;
    }
    for limit in [1, 2, 3, 7, 100_000] {
        let all = conversations_in_pages(&store, limit).await;
        let distinct: BTreeSet<ConversationId> = all.iter().copied().collect();
        assert_eq!(all.len(), distinct.len(), "each once, in pages of {limit}");
        assert!(distinct.is_superset(&expected), "in pages of {limit}");
        assert!(unborn.iter().all(|id| !distinct.contains(&ConversationId::new(*id))));
    }
    assert_eq!(store.all_conversations(None, 0).await.unwrap(), []);
    store.close().await.unwrap();
}

#[tokio::test]
async fn creations_are_listed_and_can_be_copied() {
    let (store, scene, _cassandra) = stage().await;
    let people = scene.people(3);
    let mut expected = Vec::new();
    for _ in 0..5 {
        let key = ClientId::from_stored(scene.word());
        let new = scene.new_group(Kind::Group, &people);
        let conversation = store.create(new, Some(&key)).await.unwrap().id;
        expected.push(Creation { by: people[0], key, conversation });
    }
    let (unborn, by) = (scene.id(), people[0]);
    let columns = "user_id, key, conversation_id, created_at, entry_id, created";
    let values = format!("{by}, 'unborn', {unborn}, 1, 1, ''");
    query(&store, &format!("INSERT INTO creations ({columns}) VALUES ({values})")).await;
    let unborn = ClientId::from_stored("unborn");
    assert_eq!(store.creation(people[0], &unborn).await.unwrap(), None);
    for limit in [1, 2, 100_000] {
        let mut all: Vec<Creation> = Vec::new();
        loop {
            let page = store.all_creations(all.last(), limit).await.unwrap();
            let is_last = page.len() < limit;
            all.extend(page);
            if is_last {
                break;
            }
        }
        for creation in &expected {
            assert_eq!(all.iter().filter(|found| *found == creation).count(), 1, "in pages of {limit}");
        }
        assert!(all.iter().all(|creation| creation.key != unborn));
    }
    for creation in &expected {
        assert_eq!(store.creation(creation.by, &creation.key).await.unwrap().as_ref(), Some(creation));
        store.put_creation(creation.clone()).await.unwrap();
    }

    // A conversation that was copied without its key.
    let new = scene.new_group(Kind::Channel, &people);
    let copied = Creation { by, key: ClientId::from_stored(scene.word()), conversation: new.conversation.id };
    store.create(new, None).await.unwrap();
    assert_eq!(store.creation(by, &copied.key).await.unwrap(), None);
    for _ in 0..2 {
        store.put_creation(copied.clone()).await.unwrap();
        assert_eq!(store.creation(by, &copied.key).await.unwrap().as_ref(), Some(&copied));
    }
    let again = store.create(scene.new_group(Kind::Channel, &people), Some(&copied.key)).await.unwrap();
    assert_eq!((again.id, again.made), (copied.conversation, None));
    let other = Creation { conversation: expected[0].conversation, ..copied };
    store.put_creation(other).await.unwrap_err();
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_copied_creation_has_the_same_rows_as_the_original() {
    let (store, scene, _cassandra) = stage().await;
    let people = scene.people(2);
    let made = ClientId::from_stored(scene.word());
    let id = store.create(scene.new_group(Kind::Group, &people), Some(&made)).await.unwrap().id;
    let put = ClientId::from_stored(scene.word());
    store.put_creation(Creation { by: people[0], key: put.clone(), conversation: id }).await.unwrap();
    type Row = (i64, scylla::value::CqlTimestamp, i64, String);
    let read =
        "SELECT conversation_id, created_at, entry_id, created FROM creations WHERE user_id = ? AND key = ?";
    let read = store.cql.prepare_read(read).await.unwrap();
    let row = async |key: &ClientId| -> Row {
        let values = (people[0].get() as i64, key.as_str().to_owned());
        store.cql.row("test", &read, values).await.unwrap().unwrap()
    };
    assert_eq!(row(&made).await, row(&put).await);
    store.close().await.unwrap();
}

#[tokio::test]
async fn trails_of_present_and_former_members_can_be_copied() {
    let (store, scene, _cassandra) = stage().await;
    let group = scene.group(4).await.unwrap();
    let [ada, bob, cyd, _silent] = group.members[..] else { panic!("there are four") };
    for number in 0..5 {
        scene.send(group.id, ada, &format!("m{number}")).await.unwrap();
    }
    let by = |user_id, delivered, read, at| CursorMove {
        conversation: group.id,
        user_id,
        cursor: Cursor { delivered: Seq::new(delivered), read: Seq::new(read), read_ordinal: read },
        at: NOON.plus_millis(at),
    };
    for moves in [[by(bob, 2, 0, 1), by(cyd, 3, 3, 1)], [by(bob, 4, 3, 2), by(cyd, 5, 3, 2)]] {
        store.move_cursors(&moves).await.unwrap();
    }
    let remove = scene.batch(group.id).await.unwrap().remove(ada, cyd).build();
    scene.append(remove).await.unwrap();
    let trails = store.trails(group.id, None, 100).await.unwrap();
    let at = |seq, at| (Seq::new(seq), NOON.plus_millis(at));
    let of = |user| trails.iter().find(|trail| trail.user_id == user).unwrap();
    assert_eq!(of(bob).delivered, [at(2, 1), at(4, 2)]);
    assert_eq!(of(bob).read, [at(3, 2)]);
    assert_eq!(of(cyd).cursor.delivered, Seq::new(5), "who was a member");
    assert_eq!(of(ada).cursor.read, Seq::new(6), "who sent");
    assert!(trails.is_sorted_by_key(|trail| trail.user_id));
    for limit in [1, 2] {
        let mut all: Vec<Trail> = Vec::new();
        loop {
            let page = store.trails(group.id, all.last().map(|trail| trail.user_id), limit).await.unwrap();
            let is_last = page.len() < limit;
            all.extend(page);
            if is_last {
                break;
            }
        }
        assert_eq!(all, trails, "in pages of {limit}");
    }

    let (elsewhere, head) = (ConversationId::new(scene.id()), store.account_head(bob).await.unwrap());
    for _ in 0..2 {
        store.put_trails(elsewhere, trails.clone()).await.unwrap();
        assert_eq!(store.trails(elsewhere, None, 100).await.unwrap(), trails);
    }
    let behind = Trail { cursor: Cursor::default(), delivered: vec![], read: vec![], ..of(bob).clone() };
    store.put_trails(elsewhere, vec![behind]).await.unwrap();
    assert_eq!(store.trails(elsewhere, None, 100).await.unwrap(), trails, "cursors only move forward");
    assert_eq!(store.account_head(bob).await.unwrap(), head, "nothing is noted");
    store.close().await.unwrap();
}

#[tokio::test]
async fn long_trails_are_complete() {
    let (store, scene, _cassandra) = stage().await;
    let (id, user_id) = (ConversationId::new(scene.id()), UserId::new(scene.id()));
    let moves = |seqs: &mut dyn Iterator<Item = u64>| -> Vec<(Seq, Timestamp)> {
        seqs.map(|seq| (Seq::new(seq), NOON.plus_millis(seq as i64))).collect()
    };
    // Past the end of a page, and at both ends of the buckets, one of which is empty.
    let delivered = moves(&mut (1..=5_000).chain([65_535, 65_536, 65_537, 3 * 65_536]));
    let read = moves(&mut [1, 131_071].into_iter());
    let cursor = Cursor { delivered: Seq::new(3 * 65_536), read: Seq::new(131_071), read_ordinal: 9 };
    let trail = Trail { user_id, cursor, moved_at: NOON, delivered, read };
    store.put_trails(id, vec![trail.clone()]).await.unwrap();
    assert_eq!(store.trails(id, None, 10).await.unwrap(), [trail]);
    store.close().await.unwrap();
}

#[tokio::test]
async fn an_account_log_is_copied_unchanged_and_replaces_another() {
    let (store, scene, _cassandra) = stage().await;
    let (user, other) = (scene.user().await.unwrap(), scene.user().await.unwrap());
    assert_eq!(store.account_log_of(user).await.unwrap(), AccountLog::default());
    assert_eq!(store.account_log_of(UserId::new(scene.id())).await.unwrap(), AccountLog::default());
    let note = |user, change| scene.note(user, change);
    let blocked = |id| AccountChange::UserBlocked(UserId::new(id));
    for change in (1..=40).map(blocked).chain([AccountChange::ProfileUpdated, blocked(7)]) {
        store.accounts.note(user, vec![note(user, change)]).await.unwrap();
    }
    for change in (30..50).map(blocked).chain([AccountChange::ReadMoved(ConversationId::new(3))]) {
        store.accounts.note(other, vec![note(other, change)]).await.unwrap();
    }
    let log = store.account_log_of(user).await.unwrap();
    assert_eq!((log.last, log.floor, log.entries.len()), (42, 0, 41));
    assert_eq!(store.account_log(user, 0, 100).await.unwrap().as_ref(), Some(&log.entries));

    store.put_account_log(other, log.clone()).await.unwrap();
    assert_eq!(store.account_log_of(other).await.unwrap(), log);
    let before = revision(&store, other).await;
    store.put_account_log(other, log.clone()).await.unwrap();
    assert_eq!(revision(&store, other).await, before, "there was nothing to do");
    // The copied log behaves like the original: an entry about a subject replaces the one before.
    for change in [blocked(3), blocked(1_000)] {
        for user in [user, other] {
            store.accounts.note(user, vec![note(user, change)]).await.unwrap();
        }
    }
    assert_eq!(store.account_log_of(other).await.unwrap(), store.account_log_of(user).await.unwrap());

    let dropped = AccountLog { last: 100, floor: 90, entries: log.entries[..2].to_vec() };
    store.put_account_log(other, dropped.clone()).await.unwrap();
    assert_eq!(store.account_log_of(other).await.unwrap(), dropped);
    assert_eq!(store.account_log(other, 89, 10).await.unwrap(), None);
    let empty = AccountLog { last: 5, ..AccountLog::default() };
    store.put_account_log(other, empty.clone()).await.unwrap();
    assert_eq!(store.account_log_of(other).await.unwrap(), empty);
    assert!(store.user(other).await.unwrap().is_some(), "the rest of the account stays");
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_log_that_is_too_long_for_one_write_is_replaced_in_several() {
    let (store, scene, _cassandra) = stage().await;
    let user = scene.user().await.unwrap();
    let entry = |seq: u64, of: u64| AccountEntry {
        seq,
        at: NOON,
        change: AccountChange::UserBlocked(UserId::new(of + seq)),
    };
    // Every entry in a row of its own.
    let long = |of| AccountLog {
        last: 40 * 1_500,
        floor: 3,
        entries: (1..=1_500).map(|number| entry(40 * number, of)).collect(),
    };
    for log in [long(0), long(7), AccountLog { entries: vec![entry(1, 0)], last: 1, floor: 0 }] {
        store.put_account_log(user, log.clone()).await.unwrap();
        assert_eq!(store.account_log_of(user).await.unwrap(), log);
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn ids_begin_above_the_transferred_ones() {
    static KEYSPACE: OnceCell<String> = OnceCell::const_new();
    let cassandra = Cassandra::shared().unwrap();
    let keyspace = keyspace(&KEYSPACE, "ids", &cassandra).await;
    let (store, other) = (open(&cassandra, keyspace).await, open(&cassandra, keyspace).await);
    let given = store.ids().next().unwrap().max(other.ids().next().unwrap());
    assert!(store.highest_id().await.unwrap() > given, "any of them may be given out at any time");
    store.set_transfer_state(&TransferState::Not, held()).await.unwrap();
    assert_eq!(store.highest_id().await.unwrap(), given, "what is given out now is of no use");
    store.set_transfer_state(&held(), TransferState::Not).await.unwrap();
    other.close().await.unwrap();
    let hour_ahead = given + (3_600_000 << 22);
    for id in [hour_ahead, hour_ahead, given] {
        store.begin_ids_after(id).await.unwrap();
        assert!(store.highest_id().await.unwrap() >= hour_ahead);
    }
    store.close().await.unwrap();
    let (first, second) = (open(&cassandra, keyspace).await, open(&cassandra, keyspace).await);
    for store in [&first, &second] {
        assert!(store.ids().next().unwrap() > hour_ahead);
        store.close().await.unwrap();
    }
}
