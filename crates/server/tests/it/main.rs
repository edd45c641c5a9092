//! Tests of the real binary in its own process.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and so has what it is made of")]
#![expect(clippy::large_futures, reason = "a test makes a few of them, not thousands")]

mod accounts;
mod answers;
mod application_tokens;
mod bad_http;
mod bad_socket;
mod balancer;
mod changes;
mod cli;
mod connections;
mod conversation;
mod crash;
mod embedded;
mod floods;
mod follower;
mod from_schemas;
mod groups;
mod idempotency;
mod logs;
mod on_cassandra;
mod operations;
mod people;
mod process;
mod raw;
mod raw_http;
mod raw_socket;
mod repeats;
mod resume;
mod seed;
mod senders;
mod slow_reader;
mod stopping;
mod store;
mod unlimited;
mod wire;
