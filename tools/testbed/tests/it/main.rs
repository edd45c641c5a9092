//! The started Cassandra clusters work as documented, and recover from the faults that tests cause.

mod on_cassandra;
