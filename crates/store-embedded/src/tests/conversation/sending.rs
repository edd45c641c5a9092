//! The rows that a send writes, and the cursor moves that it does not record.

use std::sync::atomic::Ordering;

use godwit_domain::model::Cursor;
use godwit_domain::ports::{ConversationStore, CursorMove, ReceiptTimes};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::{Site, scene};
use crate::EmbeddedStore;
use crate::keys::{self, Mark};
use crate::read::Read;

/// The recorded moves of both marks.
fn move_rows(store: &EmbeddedStore, id: ConversationId, user: UserId) -> [Vec<u64>; 2] {
    [Mark::Delivered, Mark::Read].map(|mark| {
        let rows = store.engine.view().all(&keys::moves_reaching(id, user, mark, Seq::ZERO)).unwrap();
        rows.iter().map(|(key, _)| keys::last_id("moves", key).unwrap()).collect()
    })
}

#[tokio::test]
async fn a_send_writes_few_rows() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    s.advance_ms(1);
    s.send(chat.id, chat.ada, "the first, which lists it and makes it hot").await.unwrap();
    for number in 0..3 {
        let before = store.engine.keys_written.load(Ordering::Relaxed);
        s.advance_ms(1);
        s.send(chat.id, chat.ada, &format!("m{number}")).await.unwrap();
        let written = store.engine.keys_written.load(Ordering::Relaxed) - before;
        assert_eq!(written, 6, "message, client id, place, head, cursor, and the highest id");
    }
}

#[tokio::test]
async fn moves_over_own_messages_are_not_stored_and_receipts_stay_exact() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    let mut sent = vec![s.now()];
    // Ada sends 2 to 4, Bob 5 and 6, Ada 7.
    for sender in [chat.ada, chat.ada, chat.ada, chat.bob, chat.bob, chat.ada] {
        s.advance_ms(1_000);
        s.send(chat.id, sender, &format!("m{}", sent.len())).await.unwrap();
        sent.push(s.now());
    }
    let sent_at = |seq: usize| sent[seq - 1];
    assert_eq!(
        move_rows(&store, chat.id, chat.ada),
        [vec![2, 7], vec![2, 7]],
        "over the first entry, and over Bob's"
    );
    assert_eq!(move_rows(&store, chat.id, chat.bob), [vec![5], vec![5]]);
    let expected = [(2, 2, 5), (3, 3, 5), (4, 4, 5), (5, 7, 5), (6, 7, 6)];
    for (seq, ada, bob) in expected {
        let times =
            |user_id, at: Timestamp| ReceiptTimes { user_id, delivered_at: Some(at), read_at: Some(at) };
        let receipts = store.receipts(chat.id, Seq::new(seq), &[chat.ada, chat.bob]).await.unwrap();
        assert_eq!(
            receipts,
            [times(chat.ada, sent_at(ada)), times(chat.bob, sent_at(bob))],
            "of entry {seq}"
        );
    }
}

/// A mark that lags behind passes entries of others when its owner sends. That move is recorded, whatever the
/// other mark does.
#[tokio::test]
async fn each_mark_has_its_own_history() {
    let site = Site::new();
    let store = site.open();
    let s = scene(&store);
    let chat = s.chat().await.unwrap();
    s.send(chat.id, chat.ada, "to be delivered").await.unwrap();
    s.advance_ms(1_000);
    let cursor = Cursor { delivered: Seq::new(2), read: Seq::ZERO, read_ordinal: 0 };
    let delivered = CursorMove { conversation: chat.id, user_id: chat.bob, cursor, at: s.now() };
    store.move_cursors(&[delivered]).await.unwrap();
    s.advance_ms(1_000);
    s.send(chat.id, chat.bob, "and to be read by answering").await.unwrap();
    assert_eq!(move_rows(&store, chat.id, chat.bob), [vec![2], vec![3]]);
    let receipts = store.receipts(chat.id, Seq::new(2), &[chat.bob]).await.unwrap();
    assert_eq!((receipts[0].delivered_at, receipts[0].read_at), (Some(delivered.at), Some(s.now())));
}
