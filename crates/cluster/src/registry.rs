//! The registry of running nodes.
//!
//! Each entry is signed. An entry that is not signed with this server's secret belongs to a *stranger*, which
//! gets no requests and no hints. But a stranger may be a server that was given another secret and appends to
//! the same logs. So while there is one, cached state is not trusted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use metrics::gauge;
use redis::aio::MultiplexedConnection;
use redis::{Pipeline, RedisResult, cmd};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::keys::{Keys, NODES_READ_MAX, read_nodes};
use crate::node::{NodeId, NodeInfo};
use crate::seal::{Seal, TAG_BYTES};

/// The interval of heartbeats, at which a node also reads the registry.
pub(crate) const BEAT_INTERVAL: Duration = Duration::from_secs(1);
/// A node without a heartbeat for this long is gone.
const NODE_TTL: Duration = Duration::from_secs(5);
/// Nodes whose last heartbeat is remembered.
const BEATS_MAX: usize = 65_536;

/// The other nodes, as of the last read.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    others: RwLock<Arc<Vec<NodeInfo>>>,
    /// The number of each node's last heartbeat, and when it was first seen.
    beats: Mutex<HashMap<NodeId, (u64, Instant)>>,
    strangers: AtomicUsize,
}

/// The entry of a node.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Grows with each heartbeat, so that an old entry that is written back does not count as alive.
    beat: u64,
    pub(crate) info: NodeInfo,
}

/// The entries found in Redis.
#[derive(Debug)]
pub(crate) struct Found {
    /// Sorted by id.
    pub(crate) entries: Vec<Entry>,
    pub(crate) strangers: usize,
}

impl Registry {
    pub(crate) fn others(&self) -> Arc<Vec<NodeInfo>> {
        self.others.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn is_known(&self, node: NodeId) -> bool {
        self.others().iter().any(|other| other.id == node)
    }

    pub(crate) fn set(&self, others: Vec<NodeInfo>) {
        *self.others.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(others);
    }

    /// Whether there is an entry that may belong to a server with another secret.
    pub(crate) fn has_strangers(&self) -> bool {
        self.strangers.load(Ordering::Relaxed) > 0
    }

    /// The nodes with a recent heartbeat.
    pub(crate) fn alive(&self, found: Found) -> Vec<NodeInfo> {
        let before = self.strangers.swap(found.strangers, Ordering::Relaxed);
        gauge!("godwit_cluster_strangers").set(found.strangers as f64);
        if found.strangers > before {
            tracing::error!(
                strangers = found.strangers,
                "servers on this Redis and store have another cluster.secret, or someone else writes to Redis; \
                 they are ignored, and every read checks the store until they are gone"
            );
        }
        let mut beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        if beats.len() >= BEATS_MAX {
            beats.clear();
        }
        let alive = found.entries.into_iter().filter(|entry| is_alive(&mut beats, entry));
        alive.map(|entry| entry.info).collect()
    }
}

fn is_alive(beats: &mut HashMap<NodeId, (u64, Instant)>, entry: &Entry) -> bool {
    match beats.get_mut(&entry.info.id) {
        Some((last, _)) if entry.beat < *last => false,
        Some((last, since)) if entry.beat == *last => since.elapsed() <= NODE_TTL,
        _ => {
            beats.insert(entry.info.id, (entry.beat, Instant::now()));
            true
        }
    }
}

/// Writes the entry of this node. Returns `false` if Redis did not have it any more, and so has lost its other
/// data too.
pub(crate) async fn beat(
    redis: &mut MultiplexedConnection,
    keys: &Keys,
    seal: &Seal,
    beat: u64,
    me: &NodeInfo,
) -> RedisResult<bool> {
    let id = me.id;
    let entry = write(seal, &Entry { beat, info: me.clone() });
    let ttl_ms = NODE_TTL.as_millis() as u64;
    let mut pipeline = Pipeline::new();
    pipeline.cmd("SET").arg(keys.node(id)).arg(entry).arg("PX").arg(ttl_ms).arg("GET");
    pipeline.cmd("SADD").arg(keys.nodes()).arg(id.to_string()).ignore();
    let (before,): (Option<Vec<u8>>,) = pipeline.query_async(redis).await?;
    Ok(before.is_some())
}

/// Reads all entries, and removes the ids of nodes that are gone.
pub(crate) async fn nodes(redis: &mut MultiplexedConnection, keys: &Keys, seal: &Seal) -> RedisResult<Found> {
    let mut found = Found { entries: Vec::new(), strangers: 0 };
    let ids: Vec<Vec<u8>> = read_nodes(keys.nodes()).query_async(redis).await?;
    if ids.len() == NODES_READ_MAX {
        // There may be more, and a server of this cluster among those that were not read.
        found.strangers += 1;
    }
    let ids: Vec<NodeId> = ids.iter().filter_map(|id| std::str::from_utf8(id).ok()?.parse().ok()).collect();
    if ids.is_empty() {
        return Ok(found);
    }
    let mut get = cmd("MGET");
    ids.iter().for_each(|id| {
        get.arg(keys.node(*id));
    });
    let entries: Vec<Option<Vec<u8>>> = get.query_async(redis).await?;
    let mut gone = Vec::new();
    for (id, entry) in ids.into_iter().zip(entries) {
        match entry.map(|entry| read(seal, id, &entry)) {
            Some(Ok(entry)) => found.entries.extend(entry),
            Some(Err(Stranger)) => found.strangers += 1,
            None => gone.push(id.to_string()),
        }
    }
    if !gone.is_empty() {
        let _: u64 = cmd("SREM").arg(keys.nodes()).arg(gone).query_async(redis).await?;
    }
    found.entries.sort_unstable_by_key(|entry| entry.info.id);
    Ok(found)
}

/// Removes the entry of this node.
pub(crate) async fn leave(redis: &mut MultiplexedConnection, keys: &Keys, me: NodeId) -> RedisResult<()> {
    let mut pipeline = Pipeline::new();
    pipeline.cmd("DEL").arg(keys.node(me)).ignore();
    pipeline.cmd("SREM").arg(keys.nodes()).arg(me.to_string()).ignore();
    pipeline.query_async(redis).await
}

/// The entry is not signed with this server's secret.
#[derive(Debug, PartialEq, Eq)]
struct Stranger;

fn write(seal: &Seal, entry: &Entry) -> Vec<u8> {
    let text = serde_json::to_vec(entry).unwrap_or_default();
    [&seal.of_node(entry.info.id, &text)[..], &text].concat()
}

/// Verifies and decodes an entry. `None` for an entry of a newer build that this one cannot read; that node
/// works on its own.
fn read(seal: &Seal, id: NodeId, bytes: &[u8]) -> Result<Option<Entry>, Stranger> {
    let (tag, text) = bytes.split_first_chunk::<TAG_BYTES>().ok_or(Stranger)?;
    if !seal.is_of_node(tag, id, text) {
        return Err(Stranger);
    }
    Ok(serde_json::from_slice::<Entry>(text).ok().filter(|entry| entry.info.id == id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::PROTOCOL;

    fn entry(id: NodeId, beat: u64) -> Entry {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
        let info = NodeInfo {
            id,
            host: "host".into(),
            version: "1".into(),
            protocol: PROTOCOL,
            serves: address,
            internal: address,
            started_at: godwit_protocol::Timestamp::from_millis(0),
            sockets: 0,
            appends: 0,
            lag_ms: 0,
            draining: false,
        };
        Entry { beat, info }
    }

    #[test]
    fn an_entry_belongs_to_the_node_that_signed_it() {
        let (seal, ada) = (Seal::new(&[7; 32], "secret"), NodeId::random());
        let written = write(&seal, &entry(ada, 5));
        assert_eq!(read(&seal, ada, &written).unwrap().unwrap().beat, 5);
        assert_eq!(read(&seal, NodeId::random(), &written).unwrap_err(), Stranger);
        assert_eq!(read(&Seal::new(&[7; 32], "other"), ada, &written).unwrap_err(), Stranger);
        assert_eq!(read(&seal, ada, b"{}").unwrap_err(), Stranger);
        assert_eq!(read(&seal, ada, &written[TAG_BYTES..]).unwrap_err(), Stranger);
    }

    #[tokio::test(start_paused = true)]
    async fn an_entry_without_a_new_heartbeat_is_not_alive() {
        let (registry, ada) = (Registry::default(), NodeId::random());
        let is_there =
            |beat: u64| !registry.alive(Found { entries: vec![entry(ada, beat)], strangers: 0 }).is_empty();
        assert!(is_there(5) && is_there(5) && is_there(6));
        assert!(!is_there(5), "put back");
        tokio::time::advance(NODE_TTL + Duration::from_secs(1)).await;
        assert!(!is_there(6), "kept alive by an attacker");
        assert!(is_there(7));
    }
}
