//! Redis carries only hints: without it everything works, and after its return nothing is missing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use godwit_client::Draft;
use godwit_client::protocol::ConversationId;
use godwit_testbed::Redis;
use tokio::time::{sleep, timeout};

use super::{Nodes, group_of, with};
use crate::changes::{Changes, Kind};
use crate::follower::Follower;
use crate::logs::{assert_rest_of, read_log, texts};
use crate::people::Person;

const NODES: usize = 3;
const MESSAGES: usize = 5;
/// Longer than every timeout for Redis.
const AWAY: Duration = Duration::from_secs(5);

/// Members at all nodes, all of them connected.
struct Talk {
    nodes: Nodes,
    redis: Arc<Redis>,
    people: Vec<Person>,
    group: ConversationId,
    followers: Vec<Follower>,
    /// The number of acknowledged messages.
    spoken: AtomicUsize,
}

impl Talk {
    async fn begin() -> Self {
        let (nodes, redis) = Nodes::start(NODES).await;
        let mut people = Vec::new();
        for node in 0..NODES {
            people.push(nodes.person(node, "member").await);
        }
        let group = group_of(&people[0], &people[1..]).await;
        let followers: Vec<Follower> =
            people.iter().map(|person| Follower::start(&person.handle, person.http.clone())).collect();
        for follower in &followers {
            follower.catches_up().await;
        }
        let talk = Self { nodes, redis, people, group, followers, spoken: AtomicUsize::new(0) };
        talk.all_speak("before").await;
        talk
    }

    /// Everybody sends and gets an acknowledgement.
    async fn all_speak(&self, when: &str) {
        for (number, person) in self.people.iter().enumerate() {
            for count in 0..MESSAGES {
                let draft = Draft::text(format!("{when} {number}/{count}"));
                person.http.send_message(self.group, draft).await.unwrap();
                self.spoken.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Asserts that all messages have reached everyone.
    async fn all_hear(&self) {
        let log = read_log(&self.people[0].http, self.group).await;
        for follower in &self.followers {
            follower.reaches(self.group, log.last().unwrap().seq).await;
        }
    }

    async fn end(self) {
        let log = read_log(&self.people[0].http, self.group).await;
        assert_eq!(texts(&log).len(), self.spoken.load(Ordering::Relaxed), "each is there, once");
        for follower in self.followers {
            follower.reaches(self.group, log.last().unwrap().seq).await;
            let name = follower.name.clone();
            let mut followed = follower.finish().await;
            assert_eq!((followed.connections, followed.all_reset), (1, 0), "{name} was never away");
            assert_rest_of(&log, &name, &followed.log(self.group));
        }
        drop(self.nodes);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killing_and_emptying_redis_loses_nothing() {
    let talk = Talk::begin().await;
    for round in 0..2 {
        with(&talk.redis, |redis| redis.kill().unwrap()).await;
        talk.all_speak(&format!("without, {round}")).await;
        sleep(Duration::from_millis(500)).await;
        with(&talk.redis, |redis| redis.start_again().unwrap()).await;
        // Missed messages arrive without another message.
        talk.all_hear().await;
    }
    talk.all_speak("after").await;
    talk.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_made_during_a_redis_outage_is_missed() {
    let (nodes, redis) = Nodes::start(2).await;
    let (ada, eve) = (nodes.person(0, "ada").await, nodes.person(0, "eve").await);
    let bob = nodes.person(1, "bob").await;
    let changes = Changes::prepare(&ada, &eve, &bob, None).await;
    let follower = Follower::start("bob", bob.http.clone());
    follower.catches_up().await;
    with(&redis, |redis| redis.kill().unwrap()).await;
    changes.happen().await;
    sleep(Duration::from_millis(500)).await;
    with(&redis, |redis| redis.start_again().unwrap()).await;
    let mut logs = Vec::new();
    for group in changes.groups() {
        let log = read_log(&bob.http, group.id).await;
        follower.reaches(group.id, log.last().unwrap().seq).await;
        logs.push((group, log));
    }
    let read = changes.groups().iter().find(|group| group.kind == Kind::Read).unwrap();
    let mark = bob.http.conversation(read.id).await.unwrap().cursors;
    let mark = mark.into_iter().find(|cursor| cursor.user_id == eve.id).unwrap();
    follower.is_told_of(read.id, mark).await;
    let mut followed = follower.finish().await;
    assert_eq!((followed.connections, followed.all_reset), (1, 0), "bob was never away");
    for (group, log) in logs {
        assert_rest_of(&log, &format!("bob, after {:?}", group.kind), &followed.log(group.id));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unresponsive_redis_delays_nobody() {
    let talk = Talk::begin().await;
    with(&talk.redis, |redis| redis.pause().unwrap()).await;
    let speaking = timeout(Duration::from_secs(60), talk.all_speak("while it is silent")).await;
    assert!(speaking.is_ok(), "sends wait for Redis");
    sleep(AWAY).await;
    talk.all_speak("later").await;
    with(&talk.redis, |redis| redis.resume().unwrap()).await;
    talk.all_hear().await;
    talk.all_speak("after").await;
    talk.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_register_again_after_redis_lost_its_data() {
    let talk = Talk::begin().await;
    with(&talk.redis, |redis| redis.forget_all().unwrap()).await;
    talk.all_speak("just after").await;
    talk.all_hear().await;
    talk.end().await;
}
