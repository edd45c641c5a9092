//! The keys and channels in Redis. No set is read as a whole, because everyone who can write to Redis can make it larger than
//! the memory of a server: [`NODES_READ_MAX`].
//!
//! ```text
//! godwit:{INSTALLATION}:nodes          set of node ids; a node without the next key is gone
//! godwit:{INSTALLATION}:node:NODE      a node's description: a signature, then JSON; expires
//! godwit:{INSTALLATION}:user:USER      set of the nodes where a user is connected; expires unless refreshed
//! godwit:{INSTALLATION}:to:NODE        channel of the messages to a node
//! ```

use godwit_protocol::UserId;
use sha2::{Digest, Sha256};

use redis::{Cmd, cmd};

use crate::node::NodeId;

/// Nodes that are read from one set, more than a cluster has. Of a larger set, so many are read at random.
pub(crate) const NODES_READ_MAX: usize = 1_024;

/// Reads the nodes in a set.
pub(crate) fn read_nodes(key: String) -> Cmd {
    let mut read = cmd("SRANDMEMBER");
    read.arg(key).arg(NODES_READ_MAX);
    read
}

#[derive(Debug, Clone)]
pub(crate) struct Keys {
    prefix: String,
}

impl Keys {
    /// Several installations can share one Redis. The names contain a hash of the installation's signing key,
    /// which does not reveal it.
    pub(crate) fn new(signing_key: &[u8; 32]) -> Self {
        let digest = Sha256::new().chain_update(b"godwit installation").chain_update(signing_key).finalize();
        let installation: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        Self { prefix: format!("godwit:{{{installation}}}") }
    }

    pub(crate) fn nodes(&self) -> String {
        format!("{}:nodes", self.prefix)
    }

    pub(crate) fn node(&self, node: NodeId) -> String {
        format!("{}:node:{node}", self.prefix)
    }

    pub(crate) fn user(&self, user: UserId) -> String {
        format!("{}:user:{user}", self.prefix)
    }

    pub(crate) fn channel(&self, node: NodeId) -> String {
        format!("{}:to:{node}", self.prefix)
    }
}
