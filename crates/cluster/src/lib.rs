//! Several servers on one store as one.
//!
//! - [`redis`]: where Redis is
//! - [`node`], [`registry`]: who the servers are, and which of them are there
//! - [`seal`]: signatures of what goes through Redis
//! - [`bus`]: what they tell each other through Redis: hints, which may be lost
//! - [`mesh`]: what they ask each other directly: appends, and what must be known everywhere before somebody is told
//! - [`cluster`]: the ports of the domain on top of these
//! - [`status`]: what an operator sees
//!
//! Nothing here is needed for a log to be right: which entries it has is settled by the store. Nodes that hear nothing of
//! each other are slower, not wrong.

mod bus;
pub mod cluster;
mod keys;
mod mesh;
mod metrics;
pub mod node;
mod notice;
pub mod redis;
mod registry;
mod seal;
pub mod status;

pub use self::metrics::describe_metrics;
pub use cluster::{Cluster, Options, StartError};
pub use node::{NodeId, NodeInfo};
pub use redis::{RedisAddress, RedisTls, TlsError};
