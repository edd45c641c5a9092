//! Listings, in cases with more than one write.

use godwit_domain::model::{AccountChange, AccountEntry, Mentions, PinChange, SettingsChange};
use godwit_domain::ports::{ConversationStore, InboxStore};
use godwit_protocol::conversations::Role;
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, UserId};
use godwit_testkit::Scene;
use godwit_testkit::scene::Group;

use super::{Site, hot_list, listed, order_rows, scene};
use crate::EmbeddedStore;
use crate::keys;
use crate::read::Read;

async fn clear(s: &Scene, store: &EmbeddedStore, user: UserId, id: ConversationId) {
    let head = s.load(id).await.unwrap().head.seq;
    let note = s.note(user, AccountChange::ConversationGone(id, GoneReason::Deleted));
    store.clear(user, id, head, 0, note).await.unwrap();
}

async fn large(store: &EmbeddedStore, user: UserId) -> Vec<ConversationId> {
    let rows = store.fanned_out_on_read(user).await.unwrap();
    rows.into_iter().map(|row| row.conversation).collect()
}

/// A group that has just become hot.
async fn hot_group(s: &Scene, store: &EmbeddedStore) -> Group {
    let group = s.group(3).await.unwrap();
    s.advance_ms(1);
    s.send(group.id, group.owner(), "busy").await.unwrap();
    for member in &group.members {
        assert_eq!(hot_list(store, *member), [group.id]);
    }
    group
}

#[tokio::test]
async fn a_hot_conversation_that_becomes_large_is_not_hot_any_more() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let group = hot_group(&s, &store).await;
    clear(&s, &store, group.members[2], group.id).await;
    s.advance_ms(1);
    let last = UserId::new(s.id());
    let batch = s.batch(group.id).await.unwrap().add_crossing(group.owner(), &[last]);
    s.append(batch.build()).await.unwrap();
    for user in group.members.iter().chain([&last]) {
        assert_eq!((hot_list(&store, *user), order_rows(&store, *user)), (vec![], 0));
        assert_eq!(large(&store, *user).await, [group.id], "also who had cleared it");
    }
    assert_eq!(store.engine.view().all(&keys::all_hot()).unwrap(), []);
    for number in 0..3 {
        s.advance_ms(1);
        s.send(group.id, last, &format!("m{number}")).await.unwrap();
    }
    assert_eq!(store.engine.view().all(&keys::all_hot()).unwrap(), [], "nor does it become so again");
    assert_eq!(hot_list(&store, group.owner()), []);
}

#[tokio::test]
async fn leaving_a_hot_conversation_leaves_no_rows() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let group = hot_group(&s, &store).await;
    let [owner, bob, eve] = [0, 1, 2].map(|i| group.members[i]);
    clear(&s, &store, eve, group.id).await;
    s.append(s.batch(group.id).await.unwrap().leave(bob).build()).await.unwrap();
    assert_eq!((hot_list(&store, bob), order_rows(&store, bob)), (vec![], 0));
    // The notice that a member left was shown, so the conversation is listed again for the member who had
    // cleared it.
    assert_eq!(listed(&store, eve).await, [group.id]);
    assert_eq!(hot_list(&store, eve), [group.id]);
    s.append(s.batch(group.id).await.unwrap().delete_conversation(owner).build()).await.unwrap();
    for user in [owner, eve] {
        assert_eq!((hot_list(&store, user), order_rows(&store, user)), (vec![], 0));
    }
    // No hot list has it any more, but it is settled nevertheless.
    drop((s, store));
    let store = site.open();
    assert_eq!(store.stats().hot_conversations, 1);
    store.close().await.unwrap();
    drop(store);
    assert_eq!(site.open().stats().hot_conversations, 0);
}

#[tokio::test]
async fn a_hot_conversation_cleared_by_both_members_returns_after_a_restart() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    s.advance_ms(1);
    s.send(chat.id, chat.ada, "busy").await.unwrap();
    for user in [chat.ada, chat.bob] {
        clear(&s, &store, user, chat.id).await;
        assert_eq!((hot_list(&store, user), order_rows(&store, user)), (vec![], 0));
    }
    drop((s, store));
    let store = site.open();
    let s = scene(&store);
    s.send(chat.id, chat.bob, "again").await.unwrap();
    for user in [chat.ada, chat.bob] {
        assert_eq!(listed(&store, user).await, [chat.id]);
    }
    store.close().await.unwrap();
    assert_eq!((hot_list(&store, chat.ada), order_rows(&store, chat.ada)), (vec![], 1));
}

/// Clearing does not move the head, so an append that was decided before it is not refused after it.
#[tokio::test]
async fn a_conversation_cleared_meanwhile_is_listed_by_shown_entries_only() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let group = s.group(3).await.unwrap();
    let [owner, bob, eve] = [0, 1, 2].map(|i| group.members[i]);
    // A change of the member's own record, which is not shown.
    let sent = s.send(group.id, owner, "m1").await.unwrap();
    let mention = Mentions { users: vec![bob], all: false };
    let batch = s.batch_on(group.id, &[sent.seq]).await.unwrap();
    let late = batch.edit_calling(owner, sent.seq, "@bob", mention).build();
    clear(&s, &store, bob, group.id).await;
    s.append(late).await.unwrap();
    let member = s.member(group.id, bob).await.unwrap();
    assert!(member.unlisted && member.mentions == [sent.seq], "{member:?}");
    assert_eq!(listed(&store, bob).await, []);
    // An append that is shown, and also decided before the clearing.
    let late = s.batch(group.id).await.unwrap().role(owner, bob, Role::Admin).build();
    clear(&s, &store, eve, group.id).await;
    let notes = s.append(late).await.unwrap();
    for user in [bob, eve] {
        assert_eq!(listed(&store, user).await, [group.id]);
        assert!(!s.member(group.id, user).await.unwrap().unlisted);
        let is_listed = |(of, entry): &&(UserId, AccountEntry)| {
            *of == user && entry.change == AccountChange::ConversationListed(group.id)
        };
        assert_eq!(notes.iter().filter(is_listed).count(), 1);
    }
    assert_eq!(s.member(group.id, bob).await.unwrap().role, Role::Admin);
}

#[tokio::test]
async fn leaving_a_conversation_leaves_no_rows() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    for is_large in [false, true] {
        let group = if is_large { s.large_group(3).await.unwrap() } else { s.group(3).await.unwrap() };
        let bob = group.members[1];
        let pin = SettingsChange { pin: Some(PinChange::Put(1)), ..SettingsChange::default() };
        let note = s.note(bob, AccountChange::SettingsChanged(group.id));
        store.change_settings(bob, group.id, pin, note).await.unwrap();
        s.append(s.batch(group.id).await.unwrap().leave(bob).build()).await.unwrap();
        let view = store.engine.view();
        let rows = [
            keys::member(group.id, bob),
            keys::cursor(group.id, bob),
            keys::listing(bob, group.id),
            keys::on_read(bob, group.id),
        ];
        assert!(rows.iter().all(|row| !view.contains(row).unwrap()));
        assert_eq!(order_rows(&store, bob), 0);
    }
}

#[tokio::test]
async fn an_append_to_a_conversation_that_nobody_cleared_reads_no_member() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    s.advance_ms(1);
    s.send(chat.id, chat.ada, "the first, which lists it and makes it hot").await.unwrap();
    s.advance_ms(1);
    let append = s.batch(chat.id).await.unwrap().text(chat.ada, "m2").build();
    let keys_read = || store.engine.keys_read.load(std::sync::atomic::Ordering::Relaxed);
    let before = keys_read();
    store.append(&append).await.unwrap();
    assert_eq!(keys_read() - before, 2, "the head, and the sender's cursor");
}
