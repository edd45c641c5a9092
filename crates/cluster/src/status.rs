//! What an operator sees of the nodes.

use ::redis::RedisError;

use crate::keys::Keys;
use crate::node::NodeInfo;
use crate::redis::RedisAddress;
use crate::registry;
use crate::seal::Seal;

/// The nodes that are there.
#[derive(Debug)]
pub struct Nodes {
    pub known: Vec<NodeInfo>,
    /// Entries that are not signed by servers with this secret.
    pub strangers: usize,
}

pub async fn nodes(redis: &RedisAddress, signing_key: &[u8; 32], secret: &str) -> Result<Nodes, RedisError> {
    let (keys, seal) = (Keys::new(signing_key), Seal::new(signing_key, secret));
    let mut connection = redis.connect_for_commands(&keys.nodes()).await?;
    let found = registry::nodes(&mut connection, &keys, &seal).await?;
    let known = found.entries.into_iter().map(|entry| entry.info).collect();
    Ok(Nodes { known, strangers: found.strangers })
}
