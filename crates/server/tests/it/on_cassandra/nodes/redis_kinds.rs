//! Redis Sentinel and Redis Cluster.

use godwit_client::Draft;
use godwit_testbed::{RedisCluster, RedisSentinel};

use super::Nodes;
use crate::follower::Follower;
use crate::logs::{assert_rest_of, read_log};
use crate::people::Person;

/// Two people at different nodes.
struct Talk {
    ada: Person,
    bob: Person,
    chat: godwit_client::protocol::ConversationId,
    follower: Follower,
}

impl Talk {
    async fn begin(nodes: &Nodes) -> Self {
        let (ada, bob) = (nodes.person(0, "ada").await, nodes.person(1, "bob").await);
        let chat = ada.open_direct(&bob).await;
        let follower = Follower::start("bob", bob.http.clone());
        follower.catches_up().await;
        Self { ada, bob, chat, follower }
    }

    /// Asserts that a message from Ada reaches Bob.
    async fn go_on(&self) {
        let sent = self.ada.http.send_message(self.chat, Draft::text("hello")).await.unwrap();
        self.follower.reaches(self.chat, sent.seq).await;
    }

    async fn end(self) {
        let log = read_log(&self.bob.http, self.chat).await;
        let mut followed = self.follower.finish().await;
        assert_eq!(followed.connections, 1);
        assert_rest_of(&log, "bob", &followed.log(self.chat));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_find_the_master_of_a_redis_cluster() {
    let redis = tokio::task::spawn_blocking(RedisCluster::start).await.unwrap().unwrap();
    let nodes = Nodes::start_with(2, &redis.url()).await;
    let talk = Talk::begin(&nodes).await;
    for _ in 0..5 {
        talk.go_on().await;
    }
    talk.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_follow_the_sentinels_to_another_master() {
    let redis = tokio::task::spawn_blocking(RedisSentinel::start).await.unwrap().unwrap();
    let nodes = Nodes::start_with(2, &redis.url()).await;
    let talk = Talk::begin(&nodes).await;
    talk.go_on().await;
    let redis = tokio::task::spawn_blocking(move || {
        redis.kill_master().unwrap();
        redis
    });
    let redis = redis.await.unwrap();
    for _ in 0..5 {
        talk.go_on().await;
    }
    talk.end().await;
    drop(tokio::task::spawn_blocking(move || drop(redis)).await);
}
