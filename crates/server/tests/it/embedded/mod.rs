//! Tests of the embedded store's files. They are irrelevant on Cassandra, so the run on Cassandra skips them: `--skip
//! embedded`.
//!
//! - `demo`: the sample data
//! - `folder`: the data folder, and its format
//! - `full_disk`: failing writes
//! - `transferred`: `godwit transfer` from folder to folder
//! - `restored`: a backup that is older than the state of clients
//! - `metrics`: the metrics of the store

mod demo;
mod folder;
mod full_disk;
mod metrics;
mod restored;
mod transferred;

use crate::process::ServerProcess;
use crate::store::TestStore;
use crate::unlimited::unlimited_on;

/// A server without rate limits on the embedded store, whatever the store of this run is.
async fn unlimited() -> ServerProcess {
    unlimited_on(TestStore::Embedded).await
}
