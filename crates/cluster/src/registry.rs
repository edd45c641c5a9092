//! The nodes that are there.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, RedisResult, cmd};

use crate::keys::Keys;
use crate::node::{NodeId, NodeInfo};

/// How often a node says that it is there, and looks who else is.
pub(crate) const BEAT_INTERVAL: Duration = Duration::from_secs(1);
/// A node that was not heard of for so long is gone.
const NODE_TTL: Duration = Duration::from_secs(5);

/// The others, as of the last look.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    others: RwLock<Arc<Vec<NodeInfo>>>,
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
}

/// Says that this node is there. False when Redis had forgotten it: then it has forgotten the rest as well.
pub(crate) async fn beat(redis: &mut MultiplexedConnection, keys: &Keys, me: &NodeInfo) -> RedisResult<bool> {
    let info = serde_json::to_string(me).unwrap_or_default();
    let ttl_ms = NODE_TTL.as_millis() as u64;
    let mut pipeline = Pipeline::new();
    pipeline.cmd("SET").arg(keys.node(me.id)).arg(info).arg("PX").arg(ttl_ms).arg("GET");
    pipeline.cmd("SADD").arg(keys.nodes()).arg(me.id.to_string()).ignore();
    let (before,): (Option<String>,) = pipeline.query_async(redis).await?;
    Ok(before.is_some())
}

/// Every node that is there, in the order of their ids.
pub(crate) async fn nodes(redis: &mut MultiplexedConnection, keys: &Keys) -> RedisResult<Vec<NodeInfo>> {
    let ids: Vec<String> = cmd("SMEMBERS").arg(keys.nodes()).query_async(redis).await?;
    let ids: Vec<NodeId> = ids.iter().filter_map(|id| id.parse().ok()).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut get = cmd("MGET");
    ids.iter().for_each(|id| {
        get.arg(keys.node(*id));
    });
    let infos: Vec<Option<String>> = get.query_async(redis).await?;
    let (mut there, mut gone) = (Vec::new(), Vec::new());
    for (id, info) in ids.into_iter().zip(infos) {
        match info {
            // One of a newer build that this one cannot read is there all the same, and goes its own way.
            Some(info) => there.extend(serde_json::from_str::<NodeInfo>(&info).ok()),
            None => gone.push(id.to_string()),
        }
    }
    if !gone.is_empty() {
        let _: u64 = cmd("SREM").arg(keys.nodes()).arg(gone).query_async(redis).await?;
    }
    there.sort_unstable_by_key(|node| node.id);
    Ok(there)
}

/// This node goes.
pub(crate) async fn leave(redis: &mut MultiplexedConnection, keys: &Keys, me: NodeId) -> RedisResult<()> {
    let mut pipeline = Pipeline::new();
    pipeline.cmd("DEL").arg(keys.node(me)).ignore();
    pipeline.cmd("SREM").arg(keys.nodes()).arg(me.to_string()).ignore();
    pipeline.query_async(redis).await
}
