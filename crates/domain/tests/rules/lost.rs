//! Lost requests and answers between a node and the store: an acknowledged message is in the log exactly once, all members
//! see one order, and a retry has its effect exactly once.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use godwit_domain::App;
use godwit_domain::actions::Refusal;
use godwit_protocol::conversations::{Role, UpdateConversation};
use godwit_protocol::messages::{Change, LogEntry, Message};
use godwit_protocol::{ConversationId, ErrorCode, Seq, UserId};
use godwit_testkit::Lost;

use crate::stage::{Stage, text};

/// Enough attempts to succeed despite all losses.
const TRIES_MAX: usize = 50;

/// Retries until there is an answer. Returns the number of attempts and the answer.
async fn until_answered<T>(mut act: impl AsyncFnMut() -> Result<T, Refusal>) -> (usize, T) {
    for tries in 1..=TRIES_MAX {
        match act().await {
            Ok(done) => return (tries, done),
            Err(refusal) => {
                assert!(refusal.is_failure() && refusal.code() == ErrorCode::Unavailable, "{refusal}");
            }
        }
    }
    panic!("it is never answered");
}

async fn log_of(node: &App, by: UserId, conversation: ConversationId) -> Vec<LogEntry> {
    let page = node.reading.log(by, conversation, Seq::ZERO, 200).await.unwrap();
    assert!(!page.more, "it is all in one page");
    page.entries
}

/// The log as all users see it, on a node with an empty cache: without gaps, with increasing ids, and each client id once.
async fn checked_log(stage: &Stage, users: &[UserId], conversation: ConversationId) -> Vec<Message> {
    let node = stage.second_node();
    let log = log_of(&node, users[0], conversation).await;
    for user in users {
        let seqs = |log: &[LogEntry]| log.iter().map(|entry| entry.seq).collect::<Vec<_>>();
        assert_eq!(seqs(&log_of(&node, *user, conversation).await), seqs(&log), "the same for all");
    }
    assert!(log.iter().map(|entry| entry.seq.get()).eq(1..=log.len() as u64), "{log:?}");
    let messages: Vec<Message> = log
        .into_iter()
        .filter_map(|entry| match entry.change {
            Change::Message { message } => Some(*message),
            _ => None,
        })
        .collect();
    assert!(messages.is_sorted_by(|a, b| a.id < b.id), "ids rise with seq");
    let sent: BTreeSet<_> = messages.iter().map(|m| (m.sender_id, m.client_id.clone())).collect();
    assert_eq!(sent.len(), messages.len(), "each is there once");
    messages
}

#[tokio::test]
async fn a_message_resent_after_a_lost_answer_is_stored_once() {
    for lost in [Lost::Request, Lost::Answer] {
        let stage = Stage::new();
        let (ada, bob, chat) = stage.pair().await;
        stage.say(ada, chat, "before").await;
        stage.store.lose([lost]);
        let (tries, sent) = until_answered(async || stage.app.writing.send(ada, chat, text("a")).await).await;
        assert_eq!(tries, if lost == Lost::Request { 2 } else { 1 }, "{lost:?}");
        // Also on a node with an empty cache.
        let again = stage.second_node().writing.send(ada, chat, text("a")).await.unwrap();
        assert_eq!((again.message.id, again.repeated), (sent.message.id, true));
        stage.say(bob, chat, "after").await;
        let log = checked_log(&stage, &[ada, bob], chat).await;
        assert_eq!(log.len(), 3);
        assert_eq!((log[1].id, log[1].seq), (sent.message.id, sent.message.seq));
        assert_eq!(stage.row(bob, chat).await.unread, 0, "his own message was the last");
    }
}

#[tokio::test]
async fn a_write_with_an_unknown_outcome_is_delivered() {
    let stage = Stage::new();
    let (ada, bob, chat) = stage.pair().await;
    stage.delivery.take();
    stage.store.lose([Lost::Answer]);
    let (_, sent) = until_answered(async || stage.app.writing.send(ada, chat, text("a")).await).await;
    assert_eq!((stage.heard(ada), stage.heard(bob)), (vec!["message".into()], vec!["message".into()]));
    stage.store.lose([Lost::Request]);
    until_answered(async || stage.app.writing.delete_for_all(ada, sent.message.id).await).await;
    assert_eq!(stage.heard(bob), ["message", "deleted"], "and once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_answers_never_lose_acknowledged_writes_of_two_nodes() {
    const SENDERS: usize = 4;
    const EACH: usize = 20;
    let stage = Stage::new();
    let (ada, bob, chat) = stage.pair().await;
    stage.store.lose([Lost::Answer, Lost::Request, Lost::Request, Lost::Answer].repeat(8));
    let nodes = [stage.app.clone(), stage.second_node()];
    let senders = (0..SENDERS).map(|sender| {
        let (node, by) = (nodes[sender % 2].clone(), if sender < 2 { ada } else { bob });
        async move {
            let mut acknowledged = Vec::new();
            for number in 0..EACH {
                let client_id = format!("{sender}-{number}");
                let send = async || node.writing.send(by, chat, text(&client_id)).await;
                acknowledged.push(until_answered(send).await.1.message);
            }
            acknowledged
        }
    });
    let acknowledged = join_all(senders).await.into_iter().flatten();
    let mut acknowledged: Vec<_> = acknowledged.map(|m| (m.seq, m.id, m.client_id)).collect();
    acknowledged.sort();
    let log = checked_log(&stage, &[ada, bob], chat).await;
    let log: Vec<_> = log.into_iter().map(|m| (m.seq, m.id, m.client_id)).collect();
    assert_eq!(log, acknowledged);
}

/// A repeatable action takes effect once, whichever attempt succeeded.
#[tokio::test]
async fn other_actions_repeated_after_a_lost_answer_are_applied_once() {
    for lost in [Lost::Request, Lost::Answer] {
        let stage = Stage::new();
        let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
        let group = stage.group(&[ada, bob]).await;
        let message = stage.say(ada, group, "hello").await;
        let app = &stage.app;
        let mut expected = stage.log(ada, group).await;
        macro_rules! once {
            ($entry:literal, $act:expr) => {{
                stage.store.lose([lost]);
                until_answered(async || $act.await).await;
                // And once more, as clients do.
                $act.await.unwrap();
                expected.push($entry.to_owned());
                assert_eq!(stage.log(ada, group).await, expected, "{lost:?}");
            }};
        }
        let renamed = UpdateConversation { name: Some("Waders".into()), ..UpdateConversation::default() };
        once!("edited", app.writing.edit(ada, message.id, "hello!".into()));
        once!("reacted", app.writing.react(bob, message.id, Some("+".into())));
        once!("pinned", app.writing.pin(ada, message.id));
        once!("unpinned", app.writing.unpin(ada, message.id));
        once!("details_changed", app.groups.update(ada, group, &renamed));
        once!("members_added", app.groups.add_members(ada, group, &[eve]));
        once!("role_changed", app.groups.set_role(ada, group, eve, Role::Admin));
        once!("deleted", app.writing.delete_for_all(ada, message.id));
    }
}
