use godwit_domain::cursors::CursorError;
use godwit_protocol::accounts::UpdateMe;
use godwit_protocol::messages::MessageStatus;
use godwit_protocol::socket::Event;
use godwit_protocol::{ConversationId, Seq, UserId};

use crate::stage::{Stage, text};

async fn send_three(stage: &Stage, ada: UserId, conversation: ConversationId) {
    for i in 0..3 {
        stage.app.writing.send(ada, conversation, text(&format!("m{i}"))).await.unwrap();
    }
}

#[tokio::test]
async fn cursors_change_message_status_and_unread_count() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    send_three(&stage, ada, conversation).await;
    let seen_by_ada = async || {
        let conversation = stage.app.inbox.conversation(ada, conversation).await.unwrap();
        conversation.last_message.unwrap().status
    };
    let unread = async || stage.app.inbox.conversation(bob, conversation).await.unwrap().unread;
    assert_eq!((seen_by_ada().await, unread().await), (MessageStatus::Sent, 3));
    stage.app.cursors.advance(bob, conversation, Some(Seq::new(4)), None).await.unwrap();
    assert_eq!((seen_by_ada().await, unread().await), (MessageStatus::Delivered, 3));
    stage.app.cursors.advance(bob, conversation, None, Some(Seq::new(3))).await.unwrap();
    assert_eq!((seen_by_ada().await, unread().await), (MessageStatus::Delivered, 1));
    stage.app.cursors.advance(bob, conversation, None, Some(Seq::new(4))).await.unwrap();
    assert_eq!((seen_by_ada().await, unread().await), (MessageStatus::Read, 0));
}

#[tokio::test]
async fn cursors_never_move_back_or_past_the_head() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    send_three(&stage, ada, conversation).await;
    let now = stage.app.cursors.advance(bob, conversation, None, Some(Seq::new(4))).await.unwrap();
    assert_eq!((now.delivered, now.read), (Seq::new(4), Seq::new(4)), "what is read is delivered");
    let again =
        stage.app.cursors.advance(bob, conversation, Some(Seq::new(2)), Some(Seq::new(2))).await.unwrap();
    assert_eq!(again, now);
    let ahead = stage.app.cursors.advance(bob, conversation, Some(Seq::new(5)), None).await;
    assert!(matches!(ahead, Err(CursorError::AheadOfLog { head }) if head == Seq::new(4)));
}

#[tokio::test]
async fn sending_moves_the_read_cursor_to_the_sent_message() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    send_three(&stage, ada, conversation).await;
    let before = stage.app.reading.message(ada, last_id(&stage, ada, conversation).await).await.unwrap();
    stage.app.writing.send(bob, conversation, text("answer")).await.unwrap();
    assert_eq!(stage.app.inbox.conversation(bob, conversation).await.unwrap().unread, 0);
    assert_eq!(stage.app.reading.message(ada, before.id).await.unwrap().status, MessageStatus::Read);
}

#[tokio::test]
async fn receipts_have_times_before_the_cursor_move_is_written() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    send_three(&stage, ada, conversation).await;
    let id = last_id(&stage, ada, conversation).await;
    stage.clock.advance_ms(5_000);
    let delivered_at = stage.now();
    stage.app.cursors.advance(bob, conversation, Some(Seq::new(4)), None).await.unwrap();
    let receipts = stage.app.reading.receipts(ada, id, None, 50).await.unwrap().0;
    assert_eq!((receipts.receipts[0].user_id, receipts.receipts[0].delivered_at), (bob, Some(delivered_at)));
    assert_eq!((receipts.delivered_to_all, receipts.read_by_all), (Some(true), Some(false)));
    assert!(receipts.receipts[0].read_at.is_none());
    stage.app.cursors.flush().await.unwrap();
    stage.clock.advance_ms(5_000);
    let read_at = stage.now();
    stage.app.cursors.advance(bob, conversation, None, Some(Seq::new(4))).await.unwrap();
    stage.app.cursors.flush().await.unwrap();
    let receipts = stage.app.reading.receipts(ada, id, None, 50).await.unwrap().0;
    assert_eq!(receipts.receipts[0].delivered_at, Some(delivered_at), "the first time stays");
    assert_eq!(receipts.receipts[0].read_at, Some(read_at));
}

#[tokio::test]
async fn many_cursor_moves_cause_one_event_and_one_write() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    send_three(&stage, ada, conversation).await;
    stage.app.cursors.flush().await.unwrap();
    stage.delivery.take();
    let before = stage.store.writes();
    for seq in 2..=4 {
        stage.app.cursors.advance(bob, conversation, None, Some(Seq::new(seq))).await.unwrap();
    }
    assert_eq!((stage.store.writes(), told(&stage, ada)), (before, vec![]), "they are gathered");
    stage.app.cursors.flush().await.unwrap();
    assert_eq!(stage.store.writes(), before + 1);
    let all_at_once = [(bob, Seq::new(4))];
    assert_eq!((told(&stage, ada), told(&stage, bob)), (all_at_once.into(), all_at_once.into()));
    assert_eq!(stage.delivery.events_for(ada).len(), 1, "and she hears of nothing else");
    stage.app.cursors.flush().await.unwrap();
    assert_eq!(stage.store.writes(), before + 1, "what is written is not written again");
    let other_node = stage.second_node();
    assert_eq!(other_node.inbox.conversation(bob, conversation).await.unwrap().unread, 0);
}

/// The read marks that a user was told of, with their positions.
fn told(stage: &Stage, user: UserId) -> Vec<(UserId, Seq)> {
    let events = stage.delivery.events_for(user);
    let cursors = events.into_iter().filter_map(|event| match event {
        Event::Cursor(event) => Some((event.cursor.user_id, event.cursor.read)),
        _ => None,
    });
    cursors.collect()
}

/// If read marks are hidden, a move of a read mark alone causes no event.
#[tokio::test]
async fn with_receipts_off_others_see_only_deliveries() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    send_three(&stage, ada, conversation).await;
    let off = UpdateMe { read_receipts: Some(false), ..UpdateMe::default() };
    stage.app.accounts.update_me(bob, off).await.unwrap();
    let (delivered, read) = (Seq::new(4), Seq::new(3));
    for (to_delivered, to_read) in [(Some(delivered), None), (None, Some(read)), (None, Some(delivered))] {
        stage.app.cursors.advance(bob, conversation, to_delivered, to_read).await.unwrap();
        stage.app.cursors.flush().await.unwrap();
    }
    let cursors = |user| -> Vec<(Seq, Seq)> {
        let events = stage.delivery.events_for(user);
        let cursors = events.iter().filter_map(|event| match event {
            Event::Cursor(event) if event.cursor.user_id == bob => Some(event.cursor),
            _ => None,
        });
        cursors.map(|cursor| (cursor.delivered, cursor.read)).collect()
    };
    assert_eq!(cursors(ada), [(delivered, Seq::ZERO)]);
    assert_eq!(cursors(bob).len(), 3, "the own devices hear of all");
}

/// A status of "read by all" would reveal that each member has read the message.
#[tokio::test]
async fn the_status_hides_the_reading_of_a_blocker() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let first = stage.say(ada, group, "one").await;
    stage.say(ada, group, "two").await;
    stage.app.people.block(bob, ada).await.unwrap();
    let status = async || {
        let row = stage.row(ada, group).await.last_message.unwrap().status;
        let listed = stage.app.inbox.page(ada, false, None, 10).await.unwrap().0;
        let listed = listed.into_iter().find(|row| row.id == group).unwrap().last_message.unwrap().status;
        [row, listed, stage.app.reading.message(ada, first.id).await.unwrap().status]
    };
    stage.app.cursors.advance(bob, group, None, Some(first.seq.next())).await.unwrap();
    assert_eq!(status().await, [MessageStatus::Delivered; 3]);
    stage.app.people.unblock(bob, ada).await.unwrap();
    assert_eq!(status().await, [MessageStatus::Read; 3]);
}

/// The list shows the newest message that the user has not concealed, with the status of that message.
#[tokio::test]
async fn the_status_of_an_older_last_message_hides_the_reading_of_a_blocker() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    let first = stage.say(ada, conversation, "one").await;
    let second = stage.say(ada, conversation, "two").await;
    stage.app.cursors.advance(bob, conversation, Some(second.seq), Some(first.seq)).await.unwrap();
    stage.app.people.block(bob, ada).await.unwrap();
    stage.app.writing.delete_for_me(ada, second.id).await.unwrap();
    let listed = stage.app.inbox.page(ada, false, None, 10).await.unwrap().0;
    let last = listed[0].last_message.clone().unwrap();
    assert_eq!((last.id, last.status), (first.id, MessageStatus::Delivered));
}

async fn last_id(stage: &Stage, user: UserId, conversation: ConversationId) -> godwit_protocol::MessageId {
    stage.app.inbox.conversation(user, conversation).await.unwrap().last_message.unwrap().id
}
