//! Users of a node that crashed and so did not report them as offline.
//!
//! Each node cares for the users whom its own sockets watch: if such a user has not come back after a while, the node stores
//! the time at which the user was last seen and reports them as offline. Nobody needs to know about the other users.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use godwit_protocol::UserId;
use redis::aio::MultiplexedConnection;
use redis::{Pipeline, RedisResult};
use tokio::time::Instant;

use super::{Bus, ROUTES_AT_ONCE, lock};
use crate::keys::read_nodes;
use crate::node::{NodeId, NodeInfo};

/// How long the users of a crashed node have to reconnect to another node.
const GRACE: Duration = Duration::from_secs(10);

/// Crashed nodes, and when this node noticed it.
#[derive(Debug, Default)]
pub(super) struct Lost(Mutex<Vec<(NodeId, Instant)>>);

impl Lost {
    pub(super) fn others_are(&self, before: &[NodeInfo], now: &[NodeInfo]) {
        let is_gone = |node: &&NodeInfo| !now.iter().any(|other| other.id == node.id);
        let gone = before.iter().filter(is_gone).map(|node| (node.id, Instant::now()));
        lock(&self.0).extend(gone);
    }

    /// Removes and returns the nodes whose users have had [`GRACE`] to reconnect.
    fn due(&self) -> HashSet<NodeId> {
        lock(&self.0).extract_if(.., |(_, since)| since.elapsed() >= GRACE).map(|(node, _)| node).collect()
    }
}

impl Bus {
    pub(super) async fn look_after_the_lost(&self, redis: &mut MultiplexedConnection) -> RedisResult<()> {
        let gone = self.lost.due();
        if gone.is_empty() {
            return Ok(());
        }
        let mut watched = self.hub.watched();
        watched.retain(|user| !self.hub.has(*user));
        for users in watched.chunks(ROUTES_AT_ONCE) {
            let mut pipeline = Pipeline::new();
            for user in users {
                pipeline.add_command(read_nodes(self.keys.user(*user)));
            }
            let nodes: Vec<Vec<String>> = pipeline.query_async(redis).await?;
            let mut forgotten = Pipeline::new();
            for (user, nodes) in users.iter().zip(nodes) {
                let was_there = nodes.iter().filter_map(|id| id.parse().ok()).filter(|id| gone.contains(id));
                let was_there: Vec<NodeId> = was_there.collect();
                for node in &was_there {
                    forgotten.cmd("SREM").arg(self.keys.user(*user)).arg(node.to_string()).ignore();
                }
                if !was_there.is_empty() {
                    self.was_lost(*user);
                }
            }
            if !forgotten.is_empty() {
                forgotten.query_async::<()>(redis).await?;
            }
        }
        Ok(())
    }

    fn was_lost(&self, user: UserId) {
        let Some(app) = self.app.get().cloned() else { return };
        tokio::spawn(async move {
            if let Err(error) = app.was_lost(user).await {
                tracing::warn!(%user, %error, "could not store last seen");
            }
        });
    }
}
