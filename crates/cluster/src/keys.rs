//! The names of what is kept in Redis.
//!
//! ```text
//! godwit:{INSTALLATION}:nodes          set of node ids; one without the next key is gone
//! godwit:{INSTALLATION}:node:NODE      what a node says of itself, as JSON after its signature; expires
//! godwit:{INSTALLATION}:user:USER      set of the nodes at which a user is; expires unless it is refreshed
//! godwit:{INSTALLATION}:to:NODE        channel of what a node is told
//! ```

use godwit_protocol::UserId;
use sha2::{Digest, Sha256};

use crate::node::NodeId;

#[derive(Debug, Clone)]
pub(crate) struct Keys {
    prefix: String,
}

impl Keys {
    /// Several installations can use one Redis: each has its own signing key, which does not show in the names.
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
