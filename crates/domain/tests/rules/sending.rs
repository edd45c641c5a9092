use godwit_domain::actions::{Answer, Refusal};
use godwit_domain::messages::{HistoryPage, Sent};
use godwit_domain::model::Draft;
use godwit_protocol::messages::{Change, MessageStatus};
use godwit_protocol::socket::Event;
use godwit_protocol::{MessageId, Position, Seq, UserId};

use crate::stage::{Stage, text};

/// The seqs of the entries that a user received.
fn entries_for(stage: &Stage, user: UserId) -> Vec<u64> {
    let events = stage.delivery.events_for(user);
    let seqs = events.iter().filter_map(|event| match event {
        Event::Entry(event) => Some(event.entry.seq.get()),
        _ => None,
    });
    seqs.collect()
}

#[tokio::test]
async fn a_message_is_stored_delivered_to_all_members_and_read_by_its_sender() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    let sent = stage.app.writing.send(ada, conversation, text("a")).await.unwrap();
    assert_eq!(
        (sent.message.seq, sent.message.status, sent.repeated),
        (Seq::new(2), MessageStatus::Sent, false)
    );
    assert_eq!((entries_for(&stage, ada), entries_for(&stage, bob)), (vec![2], vec![2]));
    let of_ada = stage.app.inbox.conversation(ada, conversation).await.unwrap();
    let of_bob = stage.app.inbox.conversation(bob, conversation).await.unwrap();
    assert_eq!((of_ada.unread, of_bob.unread), (0, 1));
    assert_eq!(of_bob.last_message.unwrap().preview, "text of a");
}

#[tokio::test]
async fn a_repeated_client_id_returns_the_original_even_concurrently_and_on_another_node() {
    let stage = Stage::new();
    let (ada, _, conversation) = stage.pair().await;
    let nodes = [stage.app.clone(), stage.second_node()];
    let sends: Vec<_> = (0..32)
        .map(|i| {
            let node = nodes[i % 2].clone();
            tokio::spawn(async move { node.writing.send(ada, conversation, text("same")).await.unwrap() })
        })
        .collect();
    let mut answers = Vec::new();
    for send in sends {
        answers.push(send.await.unwrap());
    }
    assert!(answers.iter().all(|sent| sent.message.id == answers[0].message.id));
    assert_eq!(answers.iter().filter(|sent| !sent.repeated).count(), 1);
    let page = stage.app.reading.history(ada, conversation, HistoryPage::Newest, 50).await.unwrap();
    assert_eq!(page.messages.len(), 1);
}

#[tokio::test]
async fn two_independent_nodes_write_one_log_without_gaps() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    let nodes = [stage.app.clone(), stage.second_node()];
    let sends: Vec<_> = (0..200)
        .map(|i| {
            let (node, sender) = (nodes[i % 2].clone(), if i % 3 == 0 { ada } else { bob });
            tokio::spawn(async move {
                node.writing.send(sender, conversation, text(&format!("m{i}"))).await.unwrap()
            })
        })
        .collect();
    for send in sends {
        send.await.unwrap();
    }
    let mut log = Vec::new();
    loop {
        let after = log.last().map_or(Seq::ZERO, |entry: &godwit_protocol::messages::LogEntry| entry.seq);
        let page = nodes[0].reading.log(ada, conversation, after, 200).await.unwrap();
        log.extend(page.entries);
        if !page.more {
            break;
        }
    }
    let seqs: Vec<u64> = log.iter().map(|entry| entry.seq.get()).collect();
    assert_eq!(seqs, (1..=201).collect::<Vec<_>>());
    let ids: Vec<MessageId> = log
        .iter()
        .filter_map(|entry| match &entry.change {
            Change::Message { message } => Some(message.id),
            _ => None,
        })
        .collect();
    assert!(ids.is_sorted(), "ids rise with seq");
}

#[tokio::test]
async fn messages_submitted_one_after_the_other_are_in_that_order() {
    let stage = Stage::new();
    let (ada, _, conversation) = stage.pair().await;
    let mut submitted = Vec::new();
    for i in 0..50 {
        let draft = text(&format!("m{i}"));
        let (answer, outcome) = Answer::awaited();
        stage.app.writing.submit(ada, conversation, draft, answer).await;
        submitted.push(outcome);
    }
    let mut seqs = Vec::new();
    for outcome in submitted {
        seqs.push(Sent::of(&outcome.await.unwrap()).unwrap().message.seq);
    }
    assert!(seqs.is_sorted());
}

#[tokio::test]
async fn a_stranger_learns_nothing() {
    let stage = Stage::new();
    let (ada, _, conversation) = stage.pair().await;
    let eve = stage.user("eve").await;
    let message = stage.app.writing.send(ada, conversation, text("a")).await.unwrap().message;
    let send = stage.app.writing.send(eve, conversation, text("x")).await;
    assert!(matches!(send, Err(Refusal::NotFound)));
    assert!(stage.app.reading.message(eve, message.id).await.is_err());
    assert!(stage.app.reading.receipts(eve, message.id, None, 50).await.is_err());
    assert!(stage.app.reading.log(eve, conversation, Seq::ZERO, 50).await.is_err());
    assert!(stage.app.inbox.conversation(eve, conversation).await.is_err());
    assert!(entries_for(&stage, eve).is_empty());
}

#[tokio::test]
async fn replies_stay_in_their_conversation_and_forwards_need_a_visible_message() {
    let stage = Stage::new();
    let (ada, bob, with_bob) = stage.pair().await;
    let eve = stage.user("eve").await;
    let with_eve = stage.app.inbox.open_direct(ada, eve).await.unwrap().conversation.id;
    let message = stage.app.writing.send(bob, with_bob, text("a")).await.unwrap().message;

    let reply = |id: &str| Draft { reply_to: Some(message.id), ..text(id) };
    assert_eq!(
        stage.app.writing.send(ada, with_bob, reply("r")).await.unwrap().message.reply_to,
        Some(message.id)
    );
    let astray = stage.app.writing.send(ada, with_eve, reply("r")).await;
    assert!(matches!(astray, Err(Refusal::ReplyNotFound)));

    let forward = |id: &str| Draft { forwarded_from: Some(message.id), body: None, ..text(id) };
    let forwarded = stage.app.writing.send(ada, with_eve, forward("f")).await.unwrap().message;
    assert_eq!(forwarded.forwarded_from.unwrap().sender_id, bob);
    let unseen = stage.app.writing.send(eve, with_eve, forward("f")).await;
    assert!(matches!(unseen, Err(Refusal::ForwardNotFound)));
}

#[tokio::test]
async fn history_pages_report_whether_more_messages_exist() {
    let stage = Stage::new();
    let (ada, _, conversation) = stage.pair().await;
    let mut messages = Vec::new();
    for i in 0..10 {
        stage.clock.advance_ms(1_000);
        messages
            .push(stage.app.writing.send(ada, conversation, text(&format!("m{i}"))).await.unwrap().message);
    }
    let page = async |page| {
        let page = stage.app.reading.history(ada, conversation, page, 4).await.unwrap();
        let seqs: Vec<u64> = page.messages.iter().map(|m| m.seq.get()).collect();
        (seqs, page.more_before, page.more_after)
    };
    let at = |i: usize| Position::Message(messages[i].id);
    assert_eq!(page(HistoryPage::Newest).await, (vec![8, 9, 10, 11], true, false));
    assert_eq!(page(HistoryPage::Before(at(6))).await, (vec![4, 5, 6, 7], true, true));
    assert_eq!(page(HistoryPage::Before(Position::Seq(Seq::new(4)))).await, (vec![2, 3], false, true));
    assert_eq!(page(HistoryPage::After(at(6))).await, (vec![9, 10, 11], true, false));
    assert_eq!(page(HistoryPage::After(at(9))).await, (vec![], true, false));
    assert_eq!(page(HistoryPage::Around(at(5))).await, (vec![5, 6, 7, 8], true, true));
    assert_eq!(page(HistoryPage::Around(at(0))).await, (vec![2, 3, 4, 5], false, true));
    assert_eq!(page(HistoryPage::BeforeTime(messages[2].created_at)).await, (vec![2, 3], false, true));
    assert_eq!(
        page(HistoryPage::BeforeTime(stage.now().plus_millis(1))).await,
        (vec![8, 9, 10, 11], true, false)
    );
}

#[tokio::test]
async fn a_client_that_is_ahead_of_the_log_is_told_so() {
    let stage = Stage::new();
    let (ada, _, conversation) = stage.pair().await;
    let page = stage.app.reading.log(ada, conversation, Seq::new(99), 50).await.unwrap();
    assert!(page.truncated && page.entries.is_empty());
}
