//! What accounts do, in memory and ([`cassandra`]) on a real cluster.

mod cassandra;
mod faults;
mod golden;
mod log;
mod memory;
mod queue;
mod txn;

pub(super) use faults::Faults;
