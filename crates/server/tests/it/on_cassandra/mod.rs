//! Tests that need a Cassandra cluster: lost nodes, several servers, clock skew, and refusals of Cassandra. The other modules test
//! everything else on both stores.

mod chaos;
mod many_servers;
mod nodes;
mod nodes_lost;
mod quorum_lost;
mod refusals;
mod secured;
mod talk;
mod talkers;
mod transferring;

use godwit_testbed::{Alone, Cassandra};

use crate::process::ServerProcess;
use crate::store::{TestStore, made};
use crate::unlimited::{unlimited_on, without_limits};

/// These tests share a keyspace; each has its own people.
const PURPOSE: &str = "faults";

/// Settings of servers for talkers: silent sockets are detected soon, and there are no rate limits.
fn talking() -> String {
    format!("[socket]\nheartbeat_ms = 1000\n{}", without_limits())
}

/// Exclusive use of the cluster. Waits, on a blocking thread, until no other test uses it.
async fn alone() -> Alone {
    let cluster = tokio::task::spawn_blocking(Cassandra::alone).await.unwrap();
    cluster.unwrap_or_else(|error| panic!("{error}"))
}

/// A server on these nodes, without rate limits.
async fn server_on(contact_points: &[String]) -> ServerProcess {
    unlimited_on(TestStore::At(store_at(contact_points).await)).await
}

/// The location of their keyspace.
async fn store_at(contact_points: &[String]) -> String {
    let contact_points = contact_points.to_vec();
    tokio::task::spawn_blocking(move || made(&contact_points, PURPOSE)).await.unwrap()
}

/// Runs blocking work on a separate thread.
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
