//! Makes all servers on one store, the *cluster*, work as one. (The database is always called the Cassandra cluster.)
//!
//! - [`redis`]: the address of Redis, and connections to it
//! - [`node`], [`registry`]: the servers, and which of them are running
//! - [`seal`]: signatures of everything that goes through Redis
//! - [`bus`]: hints between servers through Redis, which may be lost
//! - [`mesh`]: direct requests between servers: forwarded actions, and notices that every server must confirm
//! - [`cluster`]: the ports of the domain on top of these
//! - [`status`]: the list of servers for operators
//!
//! The correctness of logs does not depend on this crate, because the store decides which entries a log has.
//! Nodes that cannot reach each other are slower, and still correct.

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
