//! Several connected servers on three Cassandra nodes and a Redis behave like one server.

mod alone;
mod herd;
mod redis_kinds;
mod redis_lost;
mod servers_lost;
mod together;
mod withdrawn;

use std::sync::Arc;

use futures_util::future::join_all;
use godwit_client::protocol::{ConversationId, UserId};
use godwit_testbed::{Cassandra, Redis, Shared};

use super::store_at;
use crate::people::{Person, answered, same_session};
use crate::process::ServerProcess;
use crate::unlimited::without_limits;

/// Servers that share a store and a Redis.
struct Nodes {
    servers: Vec<ServerProcess>,
    _cluster: Shared,
}

impl Nodes {
    /// With their own Redis.
    async fn start(count: usize) -> (Self, Arc<Redis>) {
        let redis = tokio::task::spawn_blocking(Redis::start).await.unwrap();
        let redis = Arc::new(redis.unwrap_or_else(|error| panic!("{error}")));
        (Self::start_with(count, &redis.url()).await, redis)
    }

    async fn start_with(count: usize, redis_url: &str) -> Self {
        let cluster = tokio::task::spawn_blocking(Cassandra::shared).await.unwrap();
        let cluster = cluster.unwrap_or_else(|error| panic!("{error}"));
        let store = store_at(&cluster.contact_points()).await;
        let settings =
            format!("[store]\nurl = {store:?}\n[cluster]\nredis_url = {redis_url:?}\n{}", without_limits());
        let servers = join_all((0..count).map(|_| ServerProcess::started_with(&settings))).await;
        Self { servers, _cluster: cluster }
    }

    fn url(&self, node: usize) -> String {
        self.servers[node].url()
    }

    /// A new person whose first device is at this node.
    async fn person(&self, node: usize, name: &str) -> Person {
        Person::register(&self.url(node), name).await
    }

    /// The same person at another node.
    fn at(&self, node: usize, person: &Person) -> Person {
        Person { http: same_session(&person.http, &self.url(node)), ..person.clone() }
    }
}

/// Runs a blocking operation on Redis.
async fn with(redis: &Arc<Redis>, act: impl FnOnce(&Redis) + Send + 'static) {
    let redis = redis.clone();
    tokio::task::spawn_blocking(move || act(&redis)).await.unwrap();
}

async fn group_of(owner: &Person, others: &[Person]) -> ConversationId {
    let ids: Vec<UserId> = others.iter().map(|person| person.id).collect();
    answered(async || owner.http.group("birds", &ids).await).await.conversation.id
}
