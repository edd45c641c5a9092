//! What an operator sees of the nodes.

use ::redis::RedisError;

use crate::keys::Keys;
use crate::node::NodeInfo;
use crate::redis::RedisAddress;
use crate::registry;

/// Every node that is there.
pub async fn nodes(redis: &RedisAddress, signing_key: &[u8; 32]) -> Result<Vec<NodeInfo>, RedisError> {
    let keys = Keys::new(signing_key);
    let mut connection = redis.connect_for_commands(&keys.nodes()).await?;
    registry::nodes(&mut connection, &keys).await
}
