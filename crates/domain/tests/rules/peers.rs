//! Hints and requests between nodes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use futures_util::future::join_all;
use godwit_domain::App;
use godwit_domain::actions::{Action, Answer, Refusal};
use godwit_domain::conversations::StateChange;
use godwit_domain::messages::HistoryPage;
use godwit_domain::model::{Concealed, Cursor};
use godwit_domain::ports::{Append, CursorMove, ForwardedAction, Peers, Unanswered};
use godwit_protocol::conversations::Role;
use godwit_protocol::{ConversationId, Seq, UserId};
use godwit_testkit::Moment;

use crate::stage::{Stage, saying};

/// A scripted peer, which records its hints.
#[derive(Debug, Default)]
struct Scripted {
    /// The node that executes forwarded actions. Without it, none is forwarded.
    other: OnceLock<App>,
    /// How the next forwarded actions fail, in order. Later ones succeed.
    failures: Mutex<VecDeque<Failure>>,
    told: Mutex<Vec<String>>,
    changes: Mutex<Vec<StateChange>>,
}

#[derive(Debug, Clone, Copy)]
enum Failure {
    /// The request is not sent.
    NotAsked,
    /// The request is lost, so the action is not executed.
    Lost,
    /// The action is executed, and the answer is lost.
    AnswerLost,
}

impl Scripted {
    fn tell(&self, what: String) {
        self.told.lock().unwrap().push(what);
    }

    fn take_told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }
}

#[async_trait]
impl Peers for Scripted {
    fn forward(
        &self,
        actor: UserId,
        conversation: ConversationId,
        action: &Action,
    ) -> Option<ForwardedAction> {
        let (other, action) = (self.other.get()?.clone(), action.clone());
        let failure = self.failures.lock().unwrap().pop_front();
        Some(Box::pin(async move {
            match failure {
                Some(Failure::NotAsked) => return Err(Unanswered::NotAsked),
                Some(Failure::Lost) => return Err(Unanswered::Unknown),
                Some(Failure::AnswerLost) | None => {}
            }
            let (answer, outcome) = Answer::awaited();
            other.from_peers.act(actor, conversation, action, answer).await;
            let outcome = outcome.await;
            if failure.is_some() { Err(Unanswered::Unknown) } else { Ok(outcome) }
        }))
    }

    fn appended(&self, append: &Append) {
        self.tell(format!("appended {}", append.effects.head.seq));
        self.changes.lock().unwrap().push(StateChange::of(append));
    }

    async fn withdrawn(&self, append: &Append) {
        self.tell(format!("withdrawn {}", append.effects.head.seq));
    }

    fn cursors_moved(&self, moves: &[CursorMove]) {
        moves.iter().for_each(|moved| self.tell(format!("read {}", moved.cursor.read)));
    }

    async fn concealed(&self, _: ConversationId, _: UserId, concealed: Concealed) {
        self.tell(format!("concealed {} {}", concealed.cleared, concealed.hidden_to));
    }

    async fn settle(&self, _: ConversationId) {
        self.tell("settle".into());
    }

    async fn settle_all(&self) {
        self.tell("settle all".into());
    }
}

/// A stage whose node uses the scripted peer.
fn with_peers() -> (Stage, Arc<Scripted>) {
    let peers = Arc::new(Scripted::default());
    (Stage::with_peers(peers.clone()), peers)
}

#[tokio::test]
async fn changes_of_another_node_are_visible_after_its_hint() {
    let (stage, peers) = with_peers();
    let (ada, bob, chat) = stage.pair().await;
    let other = stage.second_node();
    let head = async || other.inbox.conversation(bob, chat).await.unwrap().head;
    assert_eq!(head().await, Seq::new(1));
    stage.say(ada, chat, "one").await;
    assert_eq!(head().await, Seq::new(1), "nobody has told it");
    other.from_peers.head(chat, Seq::new(2));
    assert_eq!(head().await, Seq::new(2));

    // The hint contains the effects, so the node need not read the store.
    stage.say(ada, chat, "two").await;
    let change = peers.changes.lock().unwrap().pop().unwrap();
    other.from_peers.appended(&change);
    assert_eq!(head().await, Seq::new(3));
    // A repeated or late hint changes nothing.
    other.from_peers.appended(&change);
    other.from_peers.head(chat, Seq::new(2));
    assert_eq!(head().await, Seq::new(3));

    // After a gap, the node reloads the state.
    stage.say(ada, chat, "three").await;
    stage.say(ada, chat, "four").await;
    let change = peers.changes.lock().unwrap().pop().unwrap();
    other.from_peers.appended(&change);
    assert_eq!(head().await, Seq::new(5));
    assert_eq!(other.inbox.conversation(bob, chat).await.unwrap().unread, 4);
}

/// A hint may be forged: it makes nobody a member and gives nobody a role.
#[tokio::test]
async fn a_hint_never_grants_access() {
    let (stage, peers) = with_peers();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob]).await;
    let other = stage.second_node();
    let head = other.inbox.conversation(bob, group).await.unwrap().head;
    stage.app.groups.add_members(ada, group, &[eve]).await.unwrap();
    stage.app.groups.remove_member(ada, group, eve).await.unwrap();
    stage.app.groups.set_role(ada, group, bob, Role::Admin).await.unwrap();
    stage.app.groups.set_role(ada, group, bob, Role::Member).await.unwrap();
    let changes = std::mem::take(&mut *peers.changes.lock().unwrap());
    let [added, _, promoted, _] = &changes[changes.len() - 4..] else { panic!("{changes:?}") };
    // As if each were the next append.
    for heard in [added, promoted] {
        let next = StateChange { expected_head: head, ..heard.clone() };
        other.from_peers.appended(&next);
    }
    other.inbox.conversation(eve, group).await.unwrap_err();
    assert_eq!(other.inbox.conversation(bob, group).await.unwrap().me.role, Role::Member);
    assert!(other.groups.remove_member(bob, group, ada).await.is_err());
    assert_eq!(other.from_peers.members_among(group, &[ada, eve, bob]).await.unwrap().len(), 2);
}

/// A hint that takes something away is applied at once without a check of the sender: a forged one only costs a read of the store.
#[tokio::test]
async fn a_hint_can_revoke_access() {
    let (stage, peers) = with_peers();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob, eve]).await;
    let other = stage.second_node();
    other.inbox.conversation(eve, group).await.unwrap();
    stage.app.groups.remove_member(ada, group, eve).await.unwrap();
    let change = peers.changes.lock().unwrap().pop().unwrap();
    other.from_peers.appended(&change);
    other.inbox.conversation(eve, group).await.unwrap_err();
}

#[tokio::test]
async fn a_node_that_may_have_missed_hints_reads_the_store() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob, eve]).await;
    let other = stage.second_node();
    other.inbox.conversation(eve, group).await.unwrap();
    stage.app.groups.remove_member(ada, group, eve).await.unwrap();
    other.inbox.conversation(eve, group).await.unwrap();
    other.from_peers.doubt();
    other.inbox.conversation(eve, group).await.unwrap_err();
    // One comparison is enough until the next doubt.
    stage.say(ada, group, "among us").await;
    let before = other.inbox.conversation(bob, group).await.unwrap().head;
    other.from_peers.doubt();
    assert!(other.inbox.conversation(bob, group).await.unwrap().head > before);
}

#[tokio::test]
async fn a_node_with_an_expired_cache_reads_the_store() {
    let stage = Stage::new();
    let (ada, bob, chat) = stage.pair().await;
    let other = stage.second_node();
    let head = async || other.inbox.conversation(bob, chat).await.unwrap().head;
    other.from_peers.trust_for(std::time::Duration::from_secs(3_600));
    assert_eq!(head().await, Seq::new(1));
    stage.say(ada, chat, "one").await;
    assert_eq!(head().await, Seq::new(1), "what is trusted is not looked up");
    other.from_peers.trust_for(std::time::Duration::ZERO);
    assert_eq!(head().await, Seq::new(2));
}

#[tokio::test]
async fn peers_get_every_append_and_revocations_wait_for_them() {
    let (stage, peers) = with_peers();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob, eve]).await;
    let message = stage.say(ada, group, "hello").await;
    assert_eq!(peers.take_told(), ["appended 2"]);
    stage.app.writing.react(bob, message.id, Some("+".into())).await.unwrap();
    assert_eq!(peers.take_told(), ["appended 3"]);
    stage.app.writing.delete_for_all(ada, message.id).await.unwrap();
    stage.app.groups.remove_member(ada, group, eve).await.unwrap();
    assert_eq!(peers.take_told(), ["withdrawn 4", "appended 4", "withdrawn 5", "appended 5"]);
    stage.app.cursors.advance(bob, group, None, Some(Seq::new(2))).await.unwrap();
    stage.app.cursors.flush().await.unwrap();
    assert_eq!(peers.take_told(), ["read 2", "read 2"], "at once, and when it is stored");
    let (ada, bob) = (ada, bob);
    stage.app.inbox.open_direct(ada, bob).await.unwrap();
    stage.app.people.block(ada, bob).await.unwrap();
    assert_eq!(peers.take_told(), ["settle"]);
}

#[tokio::test]
async fn cursors_of_other_nodes_move_forward_only() {
    let (stage, _) = with_peers();
    let (ada, bob, chat) = stage.pair().await;
    for words in ["one", "two", "three"] {
        stage.say(ada, chat, words).await;
    }
    let other = stage.second_node();
    assert_eq!(other.inbox.conversation(bob, chat).await.unwrap().unread, 3);
    let moved = |read: u64| CursorMove {
        conversation: chat,
        user_id: bob,
        cursor: Cursor { delivered: Seq::new(read), read: Seq::new(read), read_ordinal: read - 1 },
        at: stage.now(),
    };
    for (to, unread) in [(3, 1), (2, 1), (4, 0)] {
        other.from_peers.cursor_moved(&moved(to));
        assert_eq!(other.inbox.conversation(bob, chat).await.unwrap().unread, unread);
    }
}

/// Each hint arrives when the store has answered the load, and before the node has the conversation in memory.
#[tokio::test]
async fn hints_that_arrive_during_a_load_are_not_lost() {
    let (stage, _) = with_peers();
    let (ada, bob, chat) = stage.pair().await;
    for words in ["one", "two", "three"] {
        stage.say(ada, chat, words).await;
    }
    let (read, other) = (Seq::new(3), stage.second_node());
    let cursor = Cursor { delivered: read, read, read_ordinal: 2 };
    let moved = CursorMove { conversation: chat, user_id: bob, cursor, at: stage.now() };
    stage.store.meanwhile(Moment::AfterLoad, {
        let other = other.clone();
        async move { other.from_peers.cursor_moved(&moved) }
    });
    assert_eq!(other.inbox.conversation(bob, chat).await.unwrap().unread, 1);

    let other = stage.second_node();
    stage.store.meanwhile(Moment::AfterLoad, {
        let (app, other) = (stage.app.clone(), other.clone());
        async move {
            app.inbox.delete_for_me(bob, chat, None).await.unwrap();
            let concealed = Concealed { cleared: Seq::new(4), cleared_ordinal: 3, ..Concealed::default() };
            other.from_peers.concealed(chat, bob, concealed);
        }
    });
    let history = other.reading.history(bob, chat, HistoryPage::Newest, 10).await.unwrap();
    assert_eq!(history.messages, [], "not even for the one who loads it");

    let other = stage.second_node();
    stage.store.meanwhile(Moment::AfterLoad, {
        let (app, other) = (stage.app.clone(), other.clone());
        async move {
            app.writing.send(ada, chat, saying("four")).await.unwrap();
            other.from_peers.head(chat, Seq::new(5));
        }
    });
    other.inbox.conversation(bob, chat).await.unwrap();
    assert_eq!(other.inbox.conversation(bob, chat).await.unwrap().head, Seq::new(5));
}

#[tokio::test]
async fn forwarded_actions_are_applied_once_and_in_order_despite_failures_of_the_other_node() {
    let (stage, peers) = with_peers();
    let (ada, bob, chat) = stage.pair().await;
    peers.other.set(stage.second_node()).unwrap();
    peers.failures.lock().unwrap().extend([
        Failure::AnswerLost,
        Failure::NotAsked,
        Failure::Lost,
        Failure::AnswerLost,
    ]);
    let words: Vec<String> = (0..12).map(|number| number.to_string()).collect();
    let outcomes = words.iter().map(|words| {
        let (answer, outcome) = Answer::awaited();
        (saying(words), answer, outcome)
    });
    let mut waiting = Vec::new();
    for (draft, answer, outcome) in outcomes {
        stage.app.writing.submit(ada, chat, draft, answer).await;
        waiting.push(outcome);
    }
    for outcome in join_all(waiting).await {
        outcome.unwrap();
    }
    assert_eq!(stage.history(bob, chat).await, words);
}

#[tokio::test]
async fn a_non_idempotent_action_with_an_unknown_outcome_is_not_repeated() {
    let (stage, peers) = with_peers();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob, eve]).await;
    peers.other.set(stage.second_node()).unwrap();
    peers.failures.lock().unwrap().extend([Failure::AnswerLost, Failure::NotAsked]);
    let unknown = stage.app.groups.leave(bob, group, false).await;
    assert!(matches!(unknown, Err(Refusal::Interrupted(_))), "{unknown:?}");
    // This node executes an action that the other one was not asked to.
    stage.app.groups.leave(eve, group, false).await.unwrap();
    // A refusal of the other node is final.
    let refused = stage.app.groups.leave(ada, group, false).await;
    assert!(matches!(refused, Err(Refusal::LastOwner)), "{refused:?}");
    let left = stage.log(ada, group).await.into_iter().filter(|name| name == "member_left").count();
    assert_eq!(left, 2, "bob by the other node, which nobody heard of, and eve here");
}
