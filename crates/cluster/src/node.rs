//! Nodes: the servers of a cluster.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use godwit_protocol::{ConversationId, Timestamp};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// The version of the protocol between nodes. Nodes of another version get no requests. Each then appends by
/// itself, which is always correct.
pub const PROTOCOL: u32 = 2;

/// One run of a server. A restarted server is another node, so messages to the earlier run do not reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(u64);

impl NodeId {
    pub fn random() -> Self {
        Self(rand::random())
    }

    pub(crate) const fn get(self) -> u64 {
        self.0
    }

    /// The weight of this node for a conversation, in rendezvous hashing. All nodes compute the same weights,
    /// and when a node leaves, only its conversations move to other nodes.
    fn preference(self, conversation: ConversationId) -> u64 {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.0.to_le_bytes());
        bytes[8..].copy_from_slice(&conversation.get().to_le_bytes());
        xxh3_64(&bytes)
    }

    /// The node that appends to a conversation.
    pub(crate) fn preferred(
        nodes: impl IntoIterator<Item = Self>,
        conversation: ConversationId,
    ) -> Option<Self> {
        nodes.into_iter().max_by_key(|node| (node.preference(conversation), *node))
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for NodeId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

/// The description of a node, which it publishes once a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeInfo {
    #[serde(with = "as_text")]
    pub id: NodeId,
    /// The name of the machine.
    pub host: String,
    pub version: String,
    pub protocol: u32,
    /// The address where clients connect.
    pub serves: SocketAddr,
    /// The address where other nodes connect.
    pub internal: SocketAddr,
    pub started_at: Timestamp,
    pub sockets: usize,
    /// Log entries that this node appended in the last second.
    pub appends: u64,
    /// The time that a message of this node to itself takes through Redis.
    pub lag_ms: u64,
    /// Whether the node is about to stop, so that it gets no more actions.
    pub draining: bool,
}

mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use super::NodeId;

    pub(super) fn serialize<S: Serializer>(id: &NodeId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NodeId, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_a_node_leaves_only_its_conversations_move() {
        let nodes: Vec<NodeId> = (1..=5).map(NodeId).collect();
        let mut counts = [0_u32; 6];
        for conversation in (0..5_000).map(ConversationId::new) {
            let preferred = NodeId::preferred(nodes.iter().copied(), conversation).unwrap();
            counts[preferred.0 as usize] += 1;
            let left = nodes.iter().copied().filter(|node| node.0 != 3);
            let then = NodeId::preferred(left, conversation).unwrap();
            assert!(then == preferred || preferred == NodeId(3));
        }
        assert!(counts[1..].iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
    }

    #[test]
    fn ids_are_written_and_read_back() {
        let id = NodeId(0x00ab_cdef);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!("x".parse::<NodeId>().is_err());
    }
}
