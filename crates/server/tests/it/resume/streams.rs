//! Connections that break while everybody sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::try_join_all;
use godwit_client::protocol::messages::Message;
use godwit_client::protocol::{ConversationId, Seq};
use godwit_client::{Draft, Live};
use rand::RngExt;
use tokio::task::JoinHandle;

use crate::follower::Follower;
use crate::logs::{messages, read_log, same, texts};
use crate::people::{Person, same_session, soon};
use crate::process::ServerProcess;
use crate::seed::seeded;
use crate::store::Enough;
use crate::unlimited::unlimited;
use crate::wire::Wire;

/// How often the connections are cut while everybody sends.
const CUTS: usize = 40;
/// The maximum pause between two cuts, in milliseconds. Enough data must get through for connections to wear out on their
/// own too.
const CUT_MS_MAX: Enough = Enough { embedded: 80, cassandra: 600 };

/// Two people with two devices each, and their conversation, all through one relay.
struct Stage {
    ada: Person,
    chat: ConversationId,
    followers: Vec<Follower>,
    wire: Wire,
    server: ServerProcess,
}

impl Stage {
    async fn new() -> Self {
        let server = unlimited().await;
        let wire = Wire::to(server.address()).await;
        let [ada, bob] = Person::register_all(&wire.url, ["ada", "bob"]).await;
        let chat = ada.open_direct(&bob).await;
        let mut followers = Vec::new();
        for person in [&ada, &bob] {
            for name in ["phone", "laptop"] {
                let (_, http) = person.sign_in(name).await;
                followers.push(Follower::start(&format!("{}'s {name}", person.handle), http));
            }
        }
        Self { ada, chat, followers, wire, server }
    }

    /// Every device sends continuously until it is told to stop. Returns the acknowledged messages.
    fn send_until(&self, stop: &Arc<AtomicBool>) -> Vec<JoinHandle<Vec<Message>>> {
        let senders = self.followers.iter();
        senders
            .map(|f| tokio::spawn(send_until(f.name.clone(), f.live.clone(), self.chat, stop.clone())))
            .collect()
    }

    /// Asserts that every device received exactly the log, and that the log has exactly the acknowledged messages.
    async fn check(self, acknowledged: Vec<Vec<Message>>) {
        // Not through the relay, which may still break.
        let log = read_log(&same_session(&self.ada.http, &self.server.url()), self.chat).await;
        let head = log.last().unwrap().seq;
        for follower in &self.followers {
            follower.reaches(self.chat, head).await;
        }
        for (follower, acknowledged) in self.followers.into_iter().zip(acknowledged) {
            let name = follower.name.clone();
            let mut followed = follower.finish().await;
            assert_eq!(
                (followed.resets.len(), followed.all_reset),
                (0, 0),
                "{name} was never told to start anew"
            );
            assert!(followed.log(self.chat) == log, "{name} got exactly the log");
            let own: Vec<&str> = texts(&log).into_iter().filter(|text| text.starts_with(&name)).collect();
            let given: Vec<String> =
                (0..acknowledged.len()).map(|number| format!("{name} {number}")).collect();
            assert_eq!(own, given, "what {name} sent is there once and in order");
            for message in acknowledged {
                let at = usize::try_from(message.seq.get()).unwrap() - 2;
                assert_eq!(messages(&log).nth(at), Some(&same(message)));
            }
        }
    }
}

async fn send_until(name: String, live: Live, chat: ConversationId, stop: Arc<AtomicBool>) -> Vec<Message> {
    let mut acknowledged = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let draft = Draft::text(format!("{name} {}", acknowledged.len()));
        acknowledged.push(live.send(chat, draft).await.unwrap());
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeatedly_disconnected_streams_deliver_exactly_the_log() {
    let mut random = seeded(rand::random());
    let stage = Stage::new().await;
    let stop = Arc::new(AtomicBool::new(false));
    let senders = stage.send_until(&stop);
    // Some connections break in the middle of a frame, and sometimes all of them break at once.
    stage.wire.wear(random.random(), 500..20_000, CUTS);
    for _ in 0..CUTS {
        tokio::time::sleep(Duration::from_millis(random.random_range(10..CUT_MS_MAX.here() as u64))).await;
        stage.wire.cut_all();
    }
    soon("a connection to break within a frame", async {
        while stage.wire.worn_out() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    stop.store(true, Ordering::Relaxed);
    let acknowledged = soon("all acknowledgements", try_join_all(senders)).await.unwrap();
    stage.check(acknowledged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_resume_after_restarts_and_kills_of_the_server() {
    let mut stage = Stage::new().await;
    let stop = Arc::new(AtomicBool::new(false));
    let senders = stage.send_until(&stop);
    for round in 0..4 {
        let head = stage.ada.http.conversation(stage.chat).await.unwrap().head;
        // Waits for traffic on every device.
        for follower in &stage.followers {
            follower.reaches(stage.chat, Seq::new(head.get() + 20)).await;
        }
        match round % 2 {
            0 => stage.server.stop().await,
            _ => stage.server.kill().await,
        }
        stage.server.start_again().await;
        stage.wire.lead_to(stage.server.address());
    }
    stop.store(true, Ordering::Relaxed);
    let acknowledged = soon("all acknowledgements", try_join_all(senders)).await.unwrap();
    stage.check(acknowledged).await;
}
