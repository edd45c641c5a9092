//! The changed parts that a store records during a transfer.

use std::sync::Arc;

use godwit_domain::model::{
    AccountChange, ClientId, Cursor, Draft, Kind, MessageBody, Scheduled, ScheduledStage, SettingsChange,
    Star,
};
use godwit_domain::ports::{
    AccountLog, BlockStore, ConversationStore, Creation, CursorMove, DeviceStore, DueExpiry, InboxStore,
    Part, PersonalStore, Store, Trail, TransferState, TransferStore, UserStore,
};
use godwit_protocol::{ConversationId, MessageId, ScheduledId, Seq, UserId};
use godwit_testkit::Scene;

use super::super::committer::committing::{Hold, wait_for_queue};
use super::super::{Site, scene};
use super::{LIMIT, changes, out, set, some_change, sorted};
use crate::EmbeddedStore;
use crate::inbox::hot::HOT_MS_MAX;

/// A store from which a transfer runs.
async fn transferring_store(site: &Site) -> (Arc<EmbeddedStore>, Scene) {
    let store = site.open();
    set(&store, TransferState::Not, out()).await;
    let s = scene(&store);
    (store, s)
}

fn account(user: UserId) -> Part {
    Part::Account(user)
}

fn conversation(id: ConversationId) -> Part {
    Part::Conversation(id)
}

fn membership(user: UserId, id: ConversationId) -> Part {
    Part::Membership(user, id)
}

#[tokio::test]
async fn users_devices_and_blocks_are_parts_of_their_account() {
    let site = Site::new();
    let (store, s) = transferring_store(&site).await;
    let ada = s.user().await.unwrap();
    assert_eq!(changes(&store).await, [account(ada)]);
    store.update_user(ada, some_change(), None).await.unwrap();
    assert_eq!(changes(&store).await, [account(ada)]);

    let device = s.new_device(ada);
    let note = s.note(ada, AccountChange::DeviceAdded(device.id));
    store.create_device(device.clone(), note, 5).await.unwrap();
    assert_eq!(changes(&store).await, [account(ada)]);
    store.rotate_session(device.id, 0, 1, s.now(), s.now()).await.unwrap();
    assert_eq!(changes(&store).await, [account(ada)], "only the record of the device says whose it is");
    store.rotate_session(device.id, 0, 1, s.now(), s.now()).await.unwrap();
    assert_eq!(changes(&store).await, [], "the token was used before, so nothing was written");
    store.remove_device(device.id, s.note(ada, AccountChange::DeviceRemoved(device.id))).await.unwrap();
    assert_eq!(changes(&store).await, [account(ada)]);

    let bob = s.user().await.unwrap();
    assert_eq!(changes(&store).await, [account(bob)]);
    store.block(ada, bob, s.note(ada, AccountChange::UserBlocked(bob)), 5).await.unwrap();
    assert_eq!(changes(&store).await, [account(ada)]);
    store.unblock(ada, bob, s.note(ada, AccountChange::UserUnblocked(bob))).await.unwrap();
    assert_eq!(changes(&store).await, [account(ada)]);
}

#[tokio::test]
async fn messages_belong_to_the_part_of_their_conversation() {
    let site = Site::new();
    let (store, s) = transferring_store(&site).await;
    let chat = s.chat().await.unwrap();
    let opened = [conversation(chat.id), membership(chat.ada, chat.id), account(chat.ada), account(chat.bob)];
    assert_eq!(changes(&store).await, sorted(opened.into()), "both were made, and Ada has it in her inbox");
    let first = s.send(chat.id, chat.ada, "first").await.unwrap();
    let listed = [conversation(chat.id), membership(chat.bob, chat.id), account(chat.bob)];
    assert_eq!(changes(&store).await, listed, "now Bob has it too");
    s.send(chat.id, chat.ada, "second").await.unwrap();
    assert_eq!(changes(&store).await, [conversation(chat.id)]);
    s.react(chat.id, chat.bob, first.seq, Some("+")).await.unwrap();
    assert_eq!(changes(&store).await, [conversation(chat.id)]);
    let batch = s.batch_on(chat.id, &[first.seq]).await.unwrap();
    s.append(batch.delete(chat.ada, first.seq).build()).await.unwrap();
    assert_eq!(changes(&store).await, [conversation(chat.id)]);

    let cursor = |read| Cursor { delivered: Seq::new(3), read: Seq::new(read), read_ordinal: read };
    let moved =
        |read| CursorMove { conversation: chat.id, user_id: chat.bob, cursor: cursor(read), at: s.now() };
    store.move_cursors(&[moved(0)]).await.unwrap();
    assert_eq!(changes(&store).await, [conversation(chat.id)]);
    store.move_cursors(&[moved(3)]).await.unwrap();
    assert_eq!(changes(&store).await, [conversation(chat.id), account(chat.bob)], "reading is noted");
    store.move_cursors(&[moved(3)]).await.unwrap();
    assert_eq!(changes(&store).await, []);

    let due = DueExpiry { at: s.now(), conversation: chat.id, seq: first.seq };
    store.forget_expiries(vec![due]).await.unwrap();
    store.signing_key([1; 32]).await.unwrap();
    assert_eq!(changes(&store).await, [], "these follow from others, or are of no part");
}

#[tokio::test]
async fn creating_and_leaving_a_group_mark_their_parts() {
    let site = Site::new();
    let (store, s) = transferring_store(&site).await;
    let members = s.people(2);
    let key = ClientId::from_stored("k");
    let made = store.create(s.new_group(Kind::Group, &members), Some(&key)).await.unwrap();
    let mut expected = vec![conversation(made.id), Part::Creation(members[0], key.clone())];
    for user in &members {
        expected.extend([membership(*user, made.id), account(*user)]);
    }
    assert_eq!(changes(&store).await, sorted(expected));
    store.create(s.new_group(Kind::Group, &members), Some(&key)).await.unwrap();
    assert_eq!(changes(&store).await, [], "it was there");
    s.append(s.batch(made.id).await.unwrap().leave(members[1]).build()).await.unwrap();
    let left = [conversation(made.id), membership(members[1], made.id), account(members[1])];
    assert_eq!(changes(&store).await, left);
}

#[tokio::test]
async fn personal_data_belongs_to_the_membership_or_the_account() {
    let site = Site::new();
    let (store, s) = transferring_store(&site).await;
    let chat = s.chat().await.unwrap();
    let (ada, id) = (chat.ada, chat.id);
    changes(&store).await;
    let of_membership = [membership(ada, id), account(ada)];
    let note = s.note(ada, AccountChange::SettingsChanged(id));
    store.change_settings(ada, id, SettingsChange::default(), note).await.unwrap();
    assert_eq!(changes(&store).await, of_membership);
    let message = MessageId::new(s.id());
    store.hide(ada, id, Seq::new(1), 5, s.note(ada, AccountChange::MessageHidden(message))).await.unwrap();
    assert_eq!(changes(&store).await, of_membership);
    store.clear(ada, id, Seq::new(9), 0, s.note(ada, AccountChange::ConversationListed(id))).await.unwrap();
    let cleared = [conversation(id), membership(ada, id), account(ada)];
    assert_eq!(changes(&store).await, cleared, "the conversation knows who does not have it in the inbox");

    let star = Star { message_id: message, conversation: id, seq: Seq::new(1), at: s.now() };
    store.star(ada, star, 5, s.note(ada, AccountChange::MessageStarred(message))).await.unwrap();
    assert_eq!(changes(&store).await, [account(ada)]);
    store.unstar(ada, message, s.note(ada, AccountChange::MessageUnstarred(message))).await.unwrap();
    assert_eq!(changes(&store).await, [account(ada)]);

    let scheduled = scheduled(&s, ada, id);
    let note = s.note(ada, AccountChange::ScheduledUpdated(scheduled.id));
    store.schedule(scheduled.clone(), 5, note).await.unwrap();
    assert_eq!(changes(&store).await, [account(ada)]);
    store.replace_scheduled(scheduled, None, None).await.unwrap();
    assert_eq!(changes(&store).await, [account(ada)], "also without a note");
}

fn scheduled(s: &Scene, user_id: UserId, conversation: ConversationId) -> Scheduled {
    let draft = Draft {
        client_id: ClientId::from_stored("c"),
        body: Some(MessageBody::Text("later".into())),
        reply_to: None,
        forwarded_from: None,
    };
    let (id, stage) = (ScheduledId::new(s.id()), ScheduledStage::Waiting);
    Scheduled { id, user_id, conversation, send_at: s.now(), draft, stage }
}

#[tokio::test]
async fn copied_data_is_marked_as_changed() {
    let site = Site::new();
    let (store, s) = transferring_store(&site).await;
    let chat = s.chat().await.unwrap();
    changes(&store).await;
    let creation = Creation { by: chat.ada, key: ClientId::from_stored("k"), conversation: chat.id };
    store.put_creation(creation.clone()).await.unwrap();
    assert_eq!(changes(&store).await, [Part::Creation(creation.by, creation.key)]);
    let (cursor, moves) = (Cursor::default(), vec![(Seq::new(1), s.now())]);
    let trail = Trail { user_id: chat.bob, cursor, moved_at: s.now(), delivered: moves, read: vec![] };
    store.put_trails(chat.id, vec![trail]).await.unwrap();
    assert_eq!(changes(&store).await, [conversation(chat.id)]);
    store.put_account_log(chat.bob, AccountLog::default()).await.unwrap();
    assert_eq!(changes(&store).await, [account(chat.bob)]);
    store.begin_ids_after(1).await.unwrap();
    assert_eq!(changes(&store).await, []);
}

/// Inbox rows that are moved along with a write do not count as its changes.
#[tokio::test]
async fn settling_a_hot_conversation_is_not_a_change() {
    let site = Site::new();
    let (store, s) = transferring_store(&site).await;
    let chat = s.chat().await.unwrap();
    for text in ["a", "b"] {
        s.advance_ms(1);
        s.send(chat.id, chat.ada, text).await.unwrap();
    }
    changes(&store).await;
    assert_eq!(store.stats().hot_conversations, 1);
    site.clock.advance_ms(HOT_MS_MAX);
    let user = s.user().await.unwrap();
    assert_eq!(store.stats().hot_conversations, 0);
    assert_eq!(changes(&store).await, [account(user)]);
}

#[tokio::test]
async fn a_part_that_changes_again_before_it_is_settled_stays_marked() {
    let site = Site::new();
    let (store, s) = transferring_store(&site).await;
    let (ada, bob) = (s.user().await.unwrap(), s.user().await.unwrap());
    let taken = store.changed(LIMIT).await.unwrap();
    assert_eq!(sorted(taken.parts.clone()), [account(ada), account(bob)]);
    store.update_user(ada, some_change(), None).await.unwrap();
    store.settled(taken.clone()).await.unwrap();
    let again = store.changed(LIMIT).await.unwrap();
    assert_eq!(again.parts, [account(ada)]);
    store.settled(taken).await.unwrap();
    assert_eq!(store.changed(LIMIT).await.unwrap().parts, [account(ada)], "that was of an earlier round");
    store.settled(again).await.unwrap();
    assert_eq!(store.changed(LIMIT).await.unwrap().parts, []);
}

#[tokio::test]
async fn changed_parts_are_returned_in_pages_until_they_are_settled() {
    let site = Site::new();
    let (store, s) = transferring_store(&site).await;
    let mut expected = Vec::new();
    for _ in 0..5 {
        expected.push(account(s.user().await.unwrap()));
    }
    assert_eq!(store.changed(2).await.unwrap().parts.len(), 2);
    assert_eq!(store.changed(LIMIT).await.unwrap().parts.len(), 5, "nothing was settled");
    let mut found = Vec::new();
    loop {
        let changed = store.changed(2).await.unwrap();
        if changed.parts.is_empty() {
            break;
        }
        found.extend(changed.parts.clone());
        store.settled(changed).await.unwrap();
    }
    assert_eq!(sorted(found), sorted(expected));
}

/// A round may end between two writes that become durable together.
#[tokio::test]
async fn a_round_ends_in_the_middle_of_a_group() {
    let site = Site::new();
    let (store, s) = transferring_store(&site).await;
    let user = s.user().await.unwrap();
    changes(&store).await;
    let hold = Hold::new(&store).await;
    let update = || {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.update_user(user, some_change(), None).await })
    };
    let before = update();
    wait_for_queue(&store, 1).await;
    let taken = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.changed(LIMIT).await }
    });
    wait_for_queue(&store, 2).await;
    let after = update();
    wait_for_queue(&store, 3).await;
    hold.release().await;
    before.await.unwrap().unwrap();
    after.await.unwrap().unwrap();
    let taken = taken.await.unwrap().unwrap();
    assert_eq!(taken.parts, [account(user)]);
    store.settled(taken).await.unwrap();
    assert_eq!(store.changed(LIMIT).await.unwrap().parts, [account(user)], "it changed after that");
}
