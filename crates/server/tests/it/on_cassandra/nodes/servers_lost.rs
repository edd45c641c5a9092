//! Servers that join and leave: other servers take over their work.

use std::time::Duration;

use futures_util::future::join_all;
use godwit_client::Draft;
use godwit_client::protocol::socket::Event;
use rustix::process::Signal;
use tokio::time::sleep;

use super::{Nodes, group_of};
use crate::follower::Follower;
use crate::logs::{assert_rest_of, read_log, texts};
use crate::people::{Person, same_session};

const NODES: usize = 3;
const MESSAGES: usize = 40;

/// People who send through one node in many conversations, so that every other node appends for them.
struct Talk {
    ada: Person,
    groups: Vec<godwit_client::protocol::ConversationId>,
}

impl Talk {
    const GROUPS: usize = 8;

    async fn begin(nodes: &Nodes) -> Self {
        let (ada, bob) = (nodes.person(0, "ada").await, nodes.person(0, "bob").await);
        let groups = join_all((0..Self::GROUPS).map(|_| group_of(&ada, std::slice::from_ref(&bob)))).await;
        Self { ada, groups }
    }

    /// Asserts that every message is acknowledged at the first attempt.
    async fn all_are_sent(&self, within: Duration) {
        join_all(self.groups.iter().map(|group| async move {
            for count in 0..MESSAGES {
                self.ada.http.send_message(*group, Draft::text(count.to_string())).await.unwrap();
                sleep(within / MESSAGES as u32).await;
            }
        }))
        .await;
    }

    async fn check(&self) {
        let expected: Vec<String> = (0..MESSAGES).map(|count| count.to_string()).collect();
        for group in &self.groups {
            assert_eq!(texts(&read_log(&self.ada.http, *group).await), expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_causes_no_errors() {
    let (mut nodes, _redis) = Nodes::start(NODES).await;
    let talk = Talk::begin(&nodes).await;
    let (sending, restarting) = (talk.all_are_sent(Duration::from_secs(6)), async {
        for node in 1..NODES {
            nodes.servers[node].stop().await;
            nodes.servers[node].start_again().await;
        }
    });
    tokio::join!(sending, restarting);
    talk.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_or_silent_servers_lose_no_messages() {
    let (mut nodes, _redis) = Nodes::start(NODES).await;
    let talk = Talk::begin(&nodes).await;
    let (sending, killing) = (talk.all_are_sent(Duration::from_secs(8)), async {
        sleep(Duration::from_secs(1)).await;
        nodes.servers[1].kill().await;
        sleep(Duration::from_secs(1)).await;
        nodes.servers[2].signal(Signal::STOP);
        nodes.servers[1].start_again().await;
        sleep(Duration::from_secs(4)).await;
        nodes.servers[2].signal(Signal::CONT);
    });
    tokio::join!(sending, killing);
    talk.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_a_killed_server_continue_on_another() {
    let (mut nodes, _redis) = Nodes::start(NODES).await;
    let (ada, bob) = (nodes.person(0, "ada").await, nodes.person(1, "bob").await);
    let chat = ada.open_direct(&bob).await;
    let follower = Follower::start("bob", bob.http.clone());
    follower.catches_up().await;
    ada.http.send_message(chat, Draft::text("one")).await.unwrap();
    let first = read_log(&ada.http, chat).await;
    follower.reaches(chat, first.last().unwrap().seq).await;
    nodes.servers[1].kill().await;
    ada.http.send_message(chat, Draft::text("two")).await.unwrap();
    let before = follower.finish().await;
    let elsewhere = Follower::resume("bob, elsewhere", same_session(&bob.http, &nodes.url(2)), before.state);
    ada.http.send_message(chat, Draft::text("three")).await.unwrap();
    let log = read_log(&ada.http, chat).await;
    elsewhere.reaches(chat, log.last().unwrap().seq).await;
    let mut followed = elsewhere.finish().await;
    assert_rest_of(&log, "bob", &followed.log(chat));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_of_a_killed_server_are_offline_unless_they_reconnect() {
    let (mut nodes, _redis) = Nodes::start(NODES).await;
    let (ada, bob, eve) =
        (nodes.person(0, "ada").await, nodes.person(1, "bob").await, nodes.person(1, "eve").await);
    let watcher = ada.device("phone").await;
    let (_bobs, _eves) = (bob.device("phone").await, eve.device("phone").await);
    let listed = watcher.socket.watch_presence(vec![bob.id, eve.id]).await.unwrap();
    assert!(listed.iter().all(|event| event.presence.online));
    nodes.servers[1].kill().await;
    let _elsewhere = nodes.at(2, &eve).device("tablet").await;
    let seen = watcher
        .hears("that bob is gone", |event| match event {
            Event::Presence(event) => {
                (event.user_id == bob.id && !event.presence.online).then_some(event.presence)
            }
            _ => None,
        })
        .await;
    assert!(seen.last_seen_at.is_some());
    let eve_now = nodes.at(2, &ada).http.user(eve.id).await.unwrap().presence.unwrap();
    assert!(eve_now.online, "who came back is there");
    let gone = watcher.heard().into_iter().any(
        |event| matches!(event, Event::Presence(event) if event.user_id == eve.id && !event.presence.online),
    );
    assert!(!gone, "nobody was told otherwise");
}
