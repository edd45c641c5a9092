//! Tests of accounts, in memory and ([`on_cassandra`]) on Cassandra.

mod golden;
mod log;
mod memory;
mod on_cassandra;
mod queue;
mod txn;
