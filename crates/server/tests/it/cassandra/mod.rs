//! What only a cluster can go through: nodes that are lost, servers that share it, clocks that differ, a cluster that says
//! no. Everything else is tested on both stores by the other modules.

mod chaos;
mod many_servers;
mod moving;
mod nodes;
mod nodes_lost;
mod quorum_lost;
mod refusals;
mod secured;
mod talk;
mod talkers;

use godwit_testkit::cluster::{Alone, Cluster};

use crate::process::ServerProcess;
use crate::store::{TestStore, made};
use crate::unlimited::{unlimited_on, without_limits};

/// The keyspace is shared by these tests; their people are their own.
const PURPOSE: &str = "faults";

/// Settings of servers for talkers: sockets that are silent are noticed soon, and the rates of people do not matter.
fn talking() -> String {
    format!("[socket]\nheartbeat_ms = 1000\n{}", without_limits())
}

/// The cluster for one test only. Waits, on a thread of its own, until nobody else uses it.
async fn alone() -> Alone {
    let cluster = tokio::task::spawn_blocking(Cluster::alone).await.unwrap();
    cluster.unwrap_or_else(|error| panic!("{error}"))
}

/// A server on these nodes, without rate limits.
async fn server_on(contact_points: &[String]) -> ServerProcess {
    unlimited_on(TestStore::At(store_at(contact_points).await)).await
}

/// The place of their keyspace.
async fn store_at(contact_points: &[String]) -> String {
    let contact_points = contact_points.to_vec();
    tokio::task::spawn_blocking(move || made(&contact_points, PURPOSE)).await.unwrap()
}

/// What blocks is done beside what runs.
async fn blocking<T: Send + 'static>(
    cluster: Alone,
    work: impl FnOnce(&Alone) -> T + Send + 'static,
) -> (Alone, T) {
    let done = tokio::task::spawn_blocking(move || {
        let answer = work(&cluster);
        (cluster, answer)
    });
    done.await.unwrap()
}
