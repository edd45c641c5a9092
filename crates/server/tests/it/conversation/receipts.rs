//! Delivered and read marks: on messages, in the inbox, live, and as receipts with times.

use godwit_client::Draft;
use godwit_client::History;
use godwit_client::protocol::messages::{Message, MessageStatus};
use godwit_client::protocol::socket::{CursorEvent, Event};
use godwit_client::protocol::sync::AccountChange;
use godwit_client::protocol::{ConversationId, ErrorCode, MessageId, Seq, UserId};

use super::Stage;
use crate::logs::{messages, read_log};
use crate::people::{Device, Person};

async fn say(by: &Person, chat: ConversationId, text: &str) -> Message {
    by.http.send_message(chat, Draft::text(text)).await.unwrap().value
}

/// The status in every place where a member sees it.
async fn status(person: &Person, chat: ConversationId, id: MessageId) -> MessageStatus {
    let message = person.http.message(id).await.unwrap();
    let log = person.http.log(chat, Seq::new(message.seq.get() - 1), Some(1)).await.unwrap();
    let page = person.http.messages(chat, History::Around(id.into()), Some(1)).await;
    assert_eq!(messages(&log.entries).next(), Some(&message));
    assert_eq!(page.unwrap().messages, std::slice::from_ref(&message));
    let row = person.http.conversation(chat).await.unwrap();
    if let Some(last) = row.last_message.filter(|last| last.id == id) {
        assert_eq!(last.status, message.status, "in the inbox");
    }
    message.status
}

async fn unread(person: &Person, chat: ConversationId) -> u64 {
    person.http.conversation(chat).await.unwrap().unread
}

async fn hears_cursor(device: &Device, chat: ConversationId, of: UserId, delivered: u64, read: u64) {
    let (delivered, read) = (Seq::new(delivered), Seq::new(read));
    let what = format!("a cursor at {delivered} and {read}");
    device
        .hears(&what, |event| match event {
            Event::Cursor(CursorEvent { conversation_id, cursor }) => {
                let fits = *conversation_id == chat && cursor.user_id == of;
                (fits && cursor.delivered == delivered && cursor.read == read).then_some(())
            }
            _ => None,
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_sent_then_delivered_then_read() {
    let Stage { ada, bob, chat, server: _server } = Stage::new().await;
    let (adas, phone, laptop) =
        (ada.device("phone").await, bob.device("phone").await, bob.device("laptop").await);
    let first = say(&ada, chat, "one").await;
    let last = say(&ada, chat, "two").await;
    assert_eq!((first.status, first.seq, last.seq), (MessageStatus::Sent, Seq::new(2), Seq::new(3)));
    assert_eq!((unread(&bob, chat).await, unread(&ada, chat).await), (2, 0));
    let receipts = ada.http.receipts(first.id).await.unwrap();
    assert_eq!((receipts.delivered_to_all, receipts.read_by_all), (Some(false), Some(false)));
    assert_eq!((receipts.receipts[0].delivered_at, receipts.receipts[0].read_at), (None, None));

    let cursor = phone.socket.delivered(chat, last.seq).await.unwrap();
    assert_eq!((cursor.delivered, cursor.read), (last.seq, Seq::ZERO));
    hears_cursor(&adas, chat, bob.id, 3, 0).await;
    assert_eq!(status(&ada, chat, first.id).await, MessageStatus::Delivered);
    assert_eq!(status(&ada, chat, last.id).await, MessageStatus::Delivered);
    assert_eq!(unread(&bob, chat).await, 2, "received is not read");

    phone.socket.read(chat, first.seq).await.unwrap();
    hears_cursor(&adas, chat, bob.id, 3, 2).await;
    hears_cursor(&laptop, chat, bob.id, 3, 2).await;
    assert_eq!(status(&ada, chat, first.id).await, MessageStatus::Read);
    assert_eq!(status(&ada, chat, last.id).await, MessageStatus::Delivered);
    assert_eq!(unread(&bob, chat).await, 1);
    laptop
        .hears_account("what the phone read", |change| {
            matches!(change, AccountChange::ReadMoved { conversation_id, read, unread: 1 }
            if *conversation_id == chat && *read == first.seq)
        })
        .await;

    let receipts = ada.http.receipts(first.id).await.unwrap();
    assert_eq!((receipts.delivered_to_all, receipts.read_by_all), (Some(true), Some(true)));
    let [receipt] = receipts.receipts[..] else { panic!("one other member") };
    let (delivered_at, read_at) = (receipt.delivered_at.unwrap(), receipt.read_at.unwrap());
    assert_eq!(receipt.user_id, bob.id);
    assert!(first.created_at <= delivered_at && delivered_at <= read_at);
    let receipts = ada.http.receipts(last.id).await.unwrap();
    assert_eq!((receipts.delivered_to_all, receipts.read_by_all), (Some(true), Some(false)));
    assert!(receipts.receipts[0].read_at.is_none());
    // Both members may ask.
    assert_eq!(bob.http.receipts(first.id).await.unwrap().receipts[0].read_at, Some(read_at));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cursors_only_move_forward_and_not_past_the_head() {
    let Stage { ada, bob, chat, server: _server } = Stage::new().await;
    let phone = bob.device("phone").await;
    for text in ["one", "two", "three"] {
        say(&ada, chat, text).await;
    }
    let cursor = phone.socket.read(chat, Seq::new(3)).await.unwrap();
    assert_eq!((cursor.delivered, cursor.read), (Seq::new(3), Seq::new(3)), "what is read is delivered");
    let cursor = phone.socket.read(chat, Seq::new(2)).await.unwrap();
    assert_eq!((cursor.delivered, cursor.read), (Seq::new(3), Seq::new(3)), "cursors do not go back");
    let ahead = phone.socket.delivered(chat, Seq::new(5)).await.unwrap_err();
    assert_eq!(ahead.code(), Some(ErrorCode::SeqAheadOfLog));
    assert_eq!(unread(&bob, chat).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sending_marks_earlier_messages_as_read() {
    let Stage { ada, bob, chat, server: _server } = Stage::new().await;
    let question = say(&ada, chat, "well?").await;
    assert_eq!(unread(&bob, chat).await, 1);
    let answer = say(&bob, chat, "well").await;
    assert_eq!((unread(&bob, chat).await, unread(&ada, chat).await), (0, 1));
    assert_eq!(status(&ada, chat, question.id).await, MessageStatus::Read);
    assert_eq!(status(&bob, chat, answer.id).await, MessageStatus::Sent);
    assert!(ada.http.receipts(question.id).await.unwrap().receipts[0].read_at.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cursors_survive_a_restart() {
    let mut stage = Stage::new().await;
    let (read, delivered) =
        (say(&stage.ada, stage.chat, "one").await, say(&stage.ada, stage.chat, "two").await);
    let phone = stage.bob.device("phone").await;
    phone.socket.read(stage.chat, read.seq).await.unwrap();
    phone.socket.delivered(stage.chat, delivered.seq).await.unwrap();
    let before = stage.ada.http.receipts(read.id).await.unwrap().receipts;
    stage.restart().await;
    let (ada, bob, chat) = (&stage.ada, &stage.bob, stage.chat);
    assert_eq!(status(ada, chat, read.id).await, MessageStatus::Read);
    assert_eq!(status(ada, chat, delivered.id).await, MessageStatus::Delivered);
    assert_eq!(unread(bob, chat).await, 1);
    assert_eq!(ada.http.receipts(read.id).await.unwrap().receipts, before, "also by whom and when");
    assert_eq!(read_log(&ada.http, chat).await.len(), 3);
}
