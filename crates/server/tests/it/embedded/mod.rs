//! What is about the files of the embedded store. On Cassandra these tests would say nothing, so the run on Cassandra leaves
//! them out: `--skip embedded`.
//!
//! - `demo`: a small world to look around in
//! - `folder`: the data folder, and its format
//! - `full_disk`: writes that fail
//! - `moved`: `godwit move` from folder to folder
//! - `restored`: a backup that is older than what clients have seen
//! - `metrics`: what the store says about itself

mod demo;
mod folder;
mod full_disk;
mod metrics;
mod moved;
mod restored;

use crate::process::ServerProcess;
use crate::store::TestStore;
use crate::unlimited::unlimited_on;

/// A server without rate limits, on the embedded store whatever the store of this run is.
async fn unlimited() -> ServerProcess {
    unlimited_on(TestStore::Embedded).await
}
