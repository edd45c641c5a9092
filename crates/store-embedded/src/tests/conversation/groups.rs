//! The cost of many members and many changes, and the erasure of content.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use godwit_domain::model::{Change, DetailsChange, FanOut, MessageBody};
use godwit_domain::ports::{ConversationStore, HistoryEnd, SeqRange};
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};
use godwit_testkit::Scene;

use super::{Site, scene};
use crate::EmbeddedStore;
use crate::keys::{self, Key};
use crate::read::Read;

fn keys_read(store: &EmbeddedStore) -> u64 {
    store.engine.keys_read.load(Ordering::Relaxed)
}

fn keys_written(store: &EmbeddedStore) -> u64 {
    store.engine.keys_written.load(Ordering::Relaxed)
}

/// Whether the bytes of a row contain a text.
fn has(store: &EmbeddedStore, key: &Key, text: &str) -> bool {
    let row = store.engine.view().bytes(key).unwrap().expect("the row is there");
    row.windows(text.len()).any(|window| window == text.as_bytes())
}

async fn load_cost(store: &EmbeddedStore, id: ConversationId) -> u64 {
    let before = keys_read(store);
    store.load(id).await.unwrap().unwrap();
    keys_read(store) - before
}

async fn history_cost(store: &EmbeddedStore, id: ConversationId) -> u64 {
    let before = keys_read(store);
    let range = SeqRange { after: Seq::ZERO, before: Seq::new(u64::MAX) };
    store.history(id, range, HistoryEnd::Newest, 10).await.unwrap();
    keys_read(store) - before
}

fn store_and_scene(site: &Site) -> (Arc<EmbeddedStore>, Scene) {
    let store = site.open();
    let s = scene(&store);
    (store, s)
}

#[tokio::test]
async fn the_members_of_a_large_conversation_are_not_loaded_with_it() {
    let site = Site::new();
    let (store, s) = store_and_scene(&site);
    let group = s.group(40).await.unwrap();
    assert!(load_cost(&store, group.id).await > 40);
    let last = UserId::new(s.id());
    s.append(s.batch(group.id).await.unwrap().add_crossing(group.owner(), &[last]).build()).await.unwrap();
    assert_eq!(load_cost(&store, group.id).await, 3, "what it is, its head and its details");
    let state = s.load(group.id).await.unwrap();
    assert_eq!((state.details.fan_out, state.details.member_count), (FanOut::OnRead, 41));
    assert!(state.members.is_empty());
    // A message costs no more than in a conversation of two.
    s.send(group.id, last, "first").await.unwrap();
    let before = keys_written(&store);
    s.advance_ms(1);
    s.send(group.id, last, "second").await.unwrap();
    assert_eq!(
        keys_written(&store) - before,
        6,
        "message, client id, place, head, cursor, and the highest id"
    );
}

#[tokio::test]
async fn changes_of_other_pages_and_entries_that_are_not_shown_cost_a_page_nothing() {
    let site = Site::new();
    let (store, s) = store_and_scene(&site);
    let chat = s.chat().await.unwrap();
    for number in 0..30 {
        s.send(chat.id, chat.ada, &format!("m{number}")).await.unwrap();
    }
    assert_eq!(history_cost(&store, chat.id).await, 11, "the head, and the messages");
    let target = s.load(chat.id).await.unwrap().head.last_message.unwrap().seq;
    s.react(chat.id, chat.bob, target, Some("+")).await.unwrap();
    // On another page.
    s.react(chat.id, chat.bob, Seq::new(3), Some("+")).await.unwrap();
    let where_they_go_on = 1;
    assert_eq!(history_cost(&store, chat.id).await, 12 + where_they_go_on, "and what became of one");
    let mut batch = s.batch(chat.id).await.unwrap();
    for _ in 0..500 {
        batch = batch.filler();
    }
    s.append(batch.build()).await.unwrap();
    assert_eq!(history_cost(&store, chat.id).await, 12, "however much came after it");
    for number in 0..10 {
        s.send(chat.id, chat.ada, &format!("n{number}")).await.unwrap();
        let mut batch = s.batch(chat.id).await.unwrap();
        for _ in 0..50 {
            batch = batch.filler();
        }
        s.append(batch.build()).await.unwrap();
    }
    assert_eq!(history_cost(&store, chat.id).await, 11, "and however much came between them");
}

#[tokio::test]
async fn rows_of_a_deleted_message_have_no_content() {
    let site = Site::new();
    let (store, s) = store_and_scene(&site);
    let chat = s.chat().await.unwrap();
    let sent = s.send(chat.id, chat.ada, "secret").await.unwrap();
    let batch = s.batch_on(chat.id, &[sent.seq]).await.unwrap();
    s.append(batch.edit(chat.ada, sent.seq, "hidden meaning").build()).await.unwrap();
    let edit = s.load(chat.id).await.unwrap().head.seq;
    let state = keys::message_state(chat.id, sent.seq);
    assert!(
        has(&store, &keys::chunk(chat.id, false, edit), "hidden meaning") && has(&store, &state, "hidden")
    );
    assert!(has(&store, &keys::head(chat.id), "hidden meaning"), "it is the preview");

    let batch = s.batch_on(chat.id, &[sent.seq]).await.unwrap();
    s.append(batch.delete(chat.ada, sent.seq).build()).await.unwrap();
    let rows =
        [keys::chunk(chat.id, true, sent.seq), keys::chunk(chat.id, false, edit), state, keys::head(chat.id)];
    for row in rows {
        assert!(!has(&store, &row, "hidden meaning"), "{row:?}");
    }
    let entry = s.item(chat.id, sent.seq).await.unwrap().entry;
    assert!(matches!(&entry.message().unwrap().body, MessageBody::Erased(_)), "{entry:?}");
    let edited = s.item(chat.id, edit).await.unwrap().entry;
    assert!(matches!(edited.change, Change::Edited { text: None, .. }), "{edited:?}");
    assert_eq!(store.locate(MessageId::new(sent.id)).await.unwrap(), Some((chat.id, sent.seq)));
}

/// The message and its deletion are in one append.
#[tokio::test]
async fn a_message_deleted_in_its_own_append_is_erased() {
    let site = Site::new();
    let (store, s) = store_and_scene(&site);
    let chat = s.chat().await.unwrap();
    let batch = s.batch(chat.id).await.unwrap();
    let body = MessageBody::Text("secret".into());
    let batch = batch.body(chat.ada, "c1", body).delete(chat.ada, Seq::new(2));
    s.append(batch.build()).await.unwrap();
    assert!(!has(&store, &keys::chunk(chat.id, true, Seq::new(2)), "secret"));
}

#[tokio::test]
async fn a_change_of_details_writes_one_details_row() {
    let site = Site::new();
    let (store, s) = store_and_scene(&site);
    let group = s.group(5).await.unwrap();
    let before = keys_written(&store);
    let change = DetailsChange { message_ttl_secs: Some(Some(60)), ..DetailsChange::default() };
    s.append(s.batch(group.id).await.unwrap().details(group.owner(), change).build()).await.unwrap();
    assert_eq!(keys_written(&store) - before, 5, "entry, its place, details, head, and the highest id");
}
