//! Two nodes whose clocks are five minutes apart.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::HashSet;
use std::sync::Arc;

use godwit_domain::ports::{AppendOutcome, Clock, Store};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use godwit_store_cassandra::{CassandraStore, ClockError, OpenError};
use godwit_testkit::batch::Batch;
use godwit_testkit::{Scene, WallClock, founding};

use super::Keyspace;

const APART_MS: i64 = 5 * 60_000;
const MESSAGES: usize = 40;

/// The system clock with an offset.
#[derive(Debug)]
struct Wrong {
    by_ms: i64,
}

impl Clock for Wrong {
    fn now(&self) -> Timestamp {
        WallClock.now().plus_millis(self.by_ms)
    }
}

async fn open(keyspace: &Keyspace, by_ms: i64) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(Box::pin(CassandraStore::open(keyspace.options(), Arc::new(Wrong { by_ms }))).await?))
}

/// A node with the right time, and one whose clock is ahead.
async fn nodes(keyspace: &Keyspace) -> [Arc<dyn Store>; 2] {
    [open(keyspace, 0).await.unwrap(), open(keyspace, APART_MS).await.unwrap()]
}

/// A conversation whose ids carry the time of this node.
async fn open_direct(node: &Arc<dyn Store>) -> (ConversationId, UserId, UserId) {
    let scene = Scene::new(vec![node.clone()]);
    let (ada, bob) = (scene.user().await.unwrap(), scene.user().await.unwrap());
    let (pair, new) = founding::new_direct(node.ids(), ada, bob);
    let id = node.open_direct(pair, new).await.unwrap().id;
    (id, ada, bob)
}

/// Sends through a node and returns the id of the message.
async fn send(node: &Arc<dyn Store>, chat: ConversationId, sender: UserId, client_id: &str) -> u64 {
    let state = node.load(chat).await.unwrap().expect("the conversation is there");
    let append = Batch::after(node.ids(), &state).text(sender, client_id).build();
    let id = append.entries[0].id;
    assert!(matches!(node.append(&append).await.unwrap(), AppendOutcome::Appended(_)));
    id
}

#[tokio::test]
async fn order_and_ids_hold_with_different_clocks() {
    let keyspace = Keyspace::join();
    let nodes = nodes(&keyspace).await;
    let (chat, ada, _) = open_direct(&nodes[0]).await;
    let (mut ids, mut last_id) = (HashSet::new(), 0);
    for number in 0..MESSAGES {
        // The node whose clock is ahead begins, so every second message comes from the node behind.
        let id = send(&nodes[1 - number % 2], chat, ada, &format!("m{number}")).await;
        assert!(id > last_id && ids.insert(id), "ids rise with seq, and no two are the same");
        last_id = id;
    }
    for node in &nodes {
        let log = node.entries(chat, Seq::ZERO, 1_000).await.unwrap();
        assert_eq!(log.len(), 1 + MESSAGES);
        assert!(
            log.windows(2).all(|two| {
                two[0].entry.id < two[1].entry.id && two[0].entry.seq.next() == two[1].entry.seq
            })
        );
    }
}

#[tokio::test]
async fn a_sync_on_the_node_ahead_misses_nothing_of_the_node_behind() {
    let keyspace = Keyspace::join();
    let [right, ahead] = nodes(&keyspace).await;
    // The start of the next sync, if the node that is ahead makes this one.
    let floor = Wrong { by_ms: APART_MS }.now().plus_millis(-ahead.activity_lag_ms());
    let (chat, ada, bob) = open_direct(&right).await;
    send(&right, chat, ada, "news").await;
    let active = ahead.changed_since(bob, floor, None, 10).await.unwrap();
    assert!(active.iter().any(|row| row.conversation == chat));
}

#[tokio::test]
async fn an_implausible_clock_is_refused() {
    let keyspace = Keyspace::join();
    for by_ms in [3_600_000, -3_600_000] {
        let refused = open(&keyspace, by_ms).await.map(drop);
        assert!(matches!(refused, Err(OpenError::Clock(ClockError::Skewed { .. }))), "{refused:?}");
    }
}
