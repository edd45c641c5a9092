//! Tests of the use cases on the model store, including two nodes on one store.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and so has what it is made of")]

mod accounts;
mod adding;
mod bans;
mod blocks;
mod bounded;
mod cursors;
mod disabling;
mod fan_out;
mod forwards;
mod full;
mod groups;
mod inbox;
mod invites;
mod lost;
mod messages;
mod peers;
mod personal;
mod profiles;
mod races;
mod repeats;
mod returning;
mod sending;
mod sight;
mod stage;
mod sync;
mod timers;
