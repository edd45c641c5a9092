//! All faults at once: connections break anywhere, events are lost, repeated and reordered, replies are lost, and the
//! application is slow and restarts. It must still receive every entry of each log exactly once and in order.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use godwit_client::live::{Live, LiveConfig, Update};
use godwit_client::protocol::ConversationId;
use godwit_client::{Draft, Http, ResumeState, SocketConfig, Updates};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::fake::eager;
use crate::sample::PEER;
use crate::world::World;

const CONVERSATIONS: [ConversationId; 3] =
    [ConversationId::new(7), ConversationId::new(8), ConversationId::new(9)];
const SENDS: usize = 40;
const PEER_SENDS: usize = 60;
const PATIENCE: Duration = Duration::from_secs(60);

fn config(resume: ResumeState) -> LiveConfig {
    LiveConfig {
        resume: Some(resume),
        updates_buffered_max: 16,
        // Only a sync finds a lost event that leaves no gap.
        sync_every: Some(Duration::from_millis(30)),
        acknowledge_after: Some(Duration::from_millis(5)),
        socket: SocketConfig { command_timeout: Duration::from_millis(500), ..SocketConfig::default() },
        ..eager()
    }
}

fn start(url: &str, resume: ResumeState) -> (Live, Updates) {
    let http = Http::new(url).unwrap();
    http.set_access_token("token");
    Live::start(http, config(resume))
}

/// Sends one message after the other over the current session, and repeats each one until it is acknowledged.
async fn send_all(id: ConversationId, mut sessions: watch::Receiver<Option<Live>>) {
    for number in 0..SENDS {
        let client_id = format!("own-{number}");
        loop {
            let live = sessions.wait_for(Option::is_some).await.unwrap().clone().unwrap();
            let draft = Draft::text("hello").client_id(&client_id);
            if live.send(id, draft).await.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

async fn peer_sends(world: Arc<World>) {
    for number in 0..PEER_SENDS {
        for id in CONVERSATIONS {
            world.append(id, PEER, &Draft::text("hi").client_id(format!("peer-{number}")).into());
        }
        tokio::time::sleep(world.pause(4)).await;
    }
}

/// Takes all updates over several restarts, and returns the received entries of each conversation.
async fn take_all(
    world: Arc<World>,
    url: String,
    sessions: watch::Sender<Option<Live>>,
) -> HashMap<ConversationId, Vec<u64>> {
    let all = CONVERSATIONS.len() * (SENDS + PEER_SENDS);
    let (mut taken, mut count) = (HashMap::<_, Vec<u64>>::new(), 0);
    let mut state = ResumeState::default();
    while count < all {
        let (live, mut updates) = start(&url, state);
        sessions.send_replace(Some(live.clone()));
        while count < all && !world.chance(0.01) {
            if let Update::Entry(event) = updates.next().await.expect("a session that goes on") {
                taken.entry(event.conversation_id).or_default().push(event.entry.seq.get());
                count += 1;
                if world.chance(0.02) {
                    tokio::time::sleep(world.pause(30)).await;
                }
            }
        }
        // The process ends, with or without a clean shutdown.
        state = serde_json::from_str(&serde_json::to_string(updates.state()).unwrap()).unwrap();
        if world.chance(0.5) {
            live.close().await;
        }
        if count < all {
            sessions.send_replace(None);
        }
    }
    // The senders may still wait for acknowledgements.
    let (live, mut updates) = start(&url, state);
    sessions.send_replace(Some(live));
    let afterwards = tokio::time::sleep(Duration::from_millis(200));
    tokio::pin!(afterwards);
    loop {
        tokio::select! {
            () = &mut afterwards => break,
            update = updates.next() => {
                assert!(!matches!(update, Some(Update::Entry(_)) | None), "{update:?} came after everything");
            }
        }
    }
    tokio::spawn(async move { while updates.next().await.is_some() {} });
    taken
}

async fn run(seed: u64) {
    let (world, url) = World::start(seed, &CONVERSATIONS).await;
    let (sessions, current) = watch::channel(None);
    let mut tasks = JoinSet::new();
    for id in CONVERSATIONS {
        tasks.spawn(send_all(id, current.clone()));
    }
    tasks.spawn(peer_sends(world.clone()));
    let taking = tokio::spawn(take_all(world.clone(), url, sessions));
    let taken = tokio::time::timeout(PATIENCE, taking).await.expect("everything in time").unwrap();
    let acknowledged = tokio::time::timeout(PATIENCE, tasks.join_all()).await;
    acknowledged.expect("every acknowledgement in time");
    for id in CONVERSATIONS {
        let whole: Vec<u64> = (1..=(SENDS + PEER_SENDS) as u64).collect();
        assert_eq!(taken[&id], whole, "what was taken of {id} with seed {seed}");
        let log = world.client_ids(id);
        let own: Vec<_> = log.into_iter().filter(|client_id| client_id.starts_with("own")).collect();
        let given: Vec<_> = (0..SENDS).map(|number| format!("own-{number}")).collect();
        assert_eq!(own, given, "what was sent to {id} with seed {seed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_duplicated_or_reordered() {
    let mut runs = JoinSet::new();
    for seed in 0..8 {
        runs.spawn(run(seed));
    }
    runs.join_all().await;
}
