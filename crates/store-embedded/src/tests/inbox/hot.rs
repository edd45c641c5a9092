//! The hot set: a page of the inbox costs what it shows, however much is sent.

use std::sync::atomic::Ordering;

use godwit_domain::model::{Change, ClientId, Mentions, Message, MessageBody};
use godwit_domain::ports::{Append, InboxStore};
use godwit_domain::projection::Fold;
use godwit_protocol::{ConversationId, MessageId, UserId};
use godwit_testkit::Scene;

use super::{Site, hot_list, inbox, listed, order_rows, scene};
use crate::EmbeddedStore;
use crate::inbox::hot::HOT_MS_MAX;
use crate::inbox::order::HOT_PER_USER_MAX;

async fn wait_until_settled(site: &Site, s: &Scene) {
    site.clock.advance_ms(HOT_MS_MAX);
    // Some conversations are settled along with each group of writes.
    for _ in 0..HOT_PER_USER_MAX {
        s.user().await.unwrap();
    }
}

/// More messages than a `Batch` can build quickly, because it folds all of them with each one.
async fn messages(s: &Scene, id: ConversationId, sender_id: UserId, count: usize) -> Append {
    let state = s.load(id).await.unwrap();
    let (mut fold, mut entries) = (Fold::new(&state), Vec::with_capacity(count));
    for _ in 0..count {
        let id = s.ids().next_after(fold.head().id).unwrap();
        let message = Message {
            id: MessageId::new(id),
            sender_id,
            client_id: ClientId::from_stored(id.to_string()),
            body: MessageBody::Text("text".into()),
            reply: None,
            forwarded_from: None,
            mentions: Mentions::default(),
            expires_at: None,
        };
        let entry = fold.next_entry(id, Change::Message(message));
        fold.apply(&entry);
        entries.push(entry);
    }
    let (expected_head, effects) = (state.head.seq, fold.finish());
    Append { conversation: id, expected_head, entries, effects }
}

/// Keys that the engine reads for a page of ten.
async fn page_cost(store: &EmbeddedStore, user: UserId) -> u64 {
    let keys_read = || store.engine.keys_read.load(Ordering::Relaxed);
    let before = keys_read();
    store.inbox(user, false, None, 10).await.unwrap();
    keys_read() - before
}

#[tokio::test]
async fn a_busy_conversation_becomes_hot_and_is_settled_later() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    let other = s.open_direct(chat.ada, s.user().await.unwrap()).await.unwrap();
    s.advance_ms(5);
    s.send(chat.id, chat.ada, "busy").await.unwrap();
    assert_eq!(hot_list(&store, chat.ada), [chat.id]);
    assert_eq!(hot_list(&store, chat.bob), [chat.id]);
    assert_eq!(store.stats().hot_conversations, 1);
    assert_eq!(listed(&store, chat.ada).await, [chat.id, other]);
    wait_until_settled(&site, &s).await;
    assert_eq!((hot_list(&store, chat.ada), hot_list(&store, chat.bob)), (vec![], vec![]));
    assert_eq!(store.stats().hot_conversations, 0);
    assert_eq!(listed(&store, chat.ada).await, [chat.id, other]);
    // After a quiet time the rows are moved at once.
    s.advance_ms(HOT_MS_MAX);
    s.send(chat.id, chat.ada, "quiet").await.unwrap();
    assert_eq!(store.stats().hot_conversations, 0);
    assert_eq!(listed(&store, chat.ada).await, [chat.id, other]);
}

#[tokio::test]
async fn a_clean_stop_settles_everything_and_a_kill_nothing() {
    let site = Site::new();
    let mut chat = None;
    for is_closed in [false, true] {
        let store = site.open();
        let s = scene(&store);
        let new = s.chat().await.unwrap();
        s.advance_ms(1);
        s.send(new.id, new.ada, "busy").await.unwrap();
        if is_closed {
            store.close().await.unwrap();
        }
        chat = Some(new);
        drop((s, store));
        let hot = site.open().stats().hot_conversations;
        assert_eq!(hot, if is_closed { 0 } else { 1 });
    }
    let (store, chat) = (site.open(), chat.unwrap());
    assert_eq!((hot_list(&store, chat.ada), listed(&store, chat.ada).await), (vec![], vec![chat.id]));
}

#[tokio::test]
async fn a_user_with_many_busy_conversations_has_a_bounded_hot_list() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let me = s.user().await.unwrap();
    let mut chats = Vec::new();
    for _ in 0..HOT_PER_USER_MAX + 6 {
        chats.push(s.open_direct(me, s.user().await.unwrap()).await.unwrap());
    }
    for round in 0..2 {
        for chat in &chats {
            s.advance_ms(1);
            s.send(*chat, me, &format!("in round {round}")).await.unwrap();
        }
        let newest_first: Vec<_> = chats.iter().rev().copied().collect();
        for limit in [7, 50, 200] {
            let rows: Vec<_> =
                inbox(&store, me, false, limit).await.iter().map(|row| row.conversation).collect();
            assert_eq!(rows, newest_first, "in pages of {limit}");
        }
        assert_eq!(hot_list(&store, me).len(), HOT_PER_USER_MAX);
    }
    wait_until_settled(&site, &s).await;
    assert_eq!(hot_list(&store, me), []);
    assert_eq!(order_rows(&store, me), chats.len());
}

/// Adding a member to a busy group must not make that member's hot list longer than the limit.
#[tokio::test]
async fn being_listed_in_a_hot_conversation_keeps_the_bound() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let me = s.user().await.unwrap();
    for _ in 0..HOT_PER_USER_MAX {
        let chat = s.open_direct(me, s.user().await.unwrap()).await.unwrap();
        s.advance_ms(1);
        s.send(chat, me, "busy").await.unwrap();
    }
    let group = s.group(2).await.unwrap();
    let other = group.owner();
    s.advance_ms(1);
    s.send(group.id, other, "busy").await.unwrap();
    assert_eq!(hot_list(&store, other), [group.id]);
    s.advance_ms(1);
    s.append(s.batch(group.id).await.unwrap().add(other, &[me]).build()).await.unwrap();
    assert_eq!(hot_list(&store, me).len(), HOT_PER_USER_MAX);
    assert_eq!(listed(&store, me).await[0], group.id);
    assert_eq!(hot_list(&store, other), []);
    assert_eq!((order_rows(&store, other), order_rows(&store, me)), (1, HOT_PER_USER_MAX + 1));
}

#[tokio::test]
async fn many_messages_do_not_raise_the_cost_of_a_page() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let me = s.user().await.unwrap();
    let mut chats = Vec::new();
    for _ in 0..20 {
        chats.push(s.open_direct(me, s.user().await.unwrap()).await.unwrap());
    }
    let cost_before = page_cost(&store, me).await;
    for _ in 0..500 {
        s.append(messages(&s, chats[3], me, 200).await).await.unwrap();
        s.advance_ms(100);
        site.clock.advance_ms(100);
    }
    assert_eq!(s.load(chats[3]).await.unwrap().head.ordinal, 100_000);
    assert_eq!(listed(&store, me).await[0], chats[3]);
    let cost_hot = page_cost(&store, me).await;
    assert!(
        cost_hot <= cost_before + 3,
        "{cost_hot} keys, and {cost_before} before: the hot one, its head and settings"
    );
    wait_until_settled(&site, &s).await;
    assert_eq!(page_cost(&store, me).await, cost_before);
    assert_eq!(order_rows(&store, me), chats.len());
}

#[tokio::test]
async fn many_conversations_do_not_raise_the_cost_of_a_page() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let me = s.user().await.unwrap();
    let mut cost_of_few = None;
    for count in [20, 2_000] {
        let opened = s.at_once(count, |_, store| {
            let (pair, new) = s.new_direct(me, UserId::new(s.id()));
            async move { store.open_direct(pair, new).await }
        });
        opened.await.unwrap();
        let cost = page_cost(&store, me).await;
        assert_eq!(cost, *cost_of_few.get_or_insert(cost), "with {count} conversations");
    }
}
