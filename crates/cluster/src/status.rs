//! The list of nodes, for operators.

use ::redis::RedisError;

use crate::keys::Keys;
use crate::node::NodeInfo;
use crate::redis::RedisAddress;
use crate::registry;
use crate::seal::Seal;

/// The running nodes.
#[derive(Debug)]
pub struct Nodes {
    pub known: Vec<NodeInfo>,
    /// The number of entries that are not signed with this installation's secret.
    pub strangers: usize,
}

pub async fn nodes(redis: &RedisAddress, signing_key: &[u8; 32], secret: &str) -> Result<Nodes, RedisError> {
    let (keys, seal) = (Keys::new(signing_key), Seal::new(signing_key, secret));
    let mut connection = redis.connect_for_commands(&keys.nodes()).await?;
    let found = registry::nodes(&mut connection, &keys, &seal).await?;
    let known = found.entries.into_iter().map(|entry| entry.info).collect();
    Ok(Nodes { known, strangers: found.strangers })
}
