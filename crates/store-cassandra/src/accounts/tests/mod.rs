//! What accounts do, in memory and ([`cassandra`]) on a real cluster.

mod cassandra;
mod golden;
mod log;
mod memory;
mod queue;
mod txn;
