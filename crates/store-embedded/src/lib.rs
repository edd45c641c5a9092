//! The store ports on an embedded engine: one folder, one process, no other software.
//!
//! The modules form layers: a module imports only from layers below its own, which a test in `testkit` checks.
//! The store on Cassandra has modules of the same names.
//!
//! ```text
//! ports                 the ports of the domain, one file each
//! lib                   EmbeddedStore
//! committer  folder     group commit by one thread; the data folder, its lock and its format
//! transfer              transfers to another store, and the parts that change meanwhile
//! conversation          logs and their projections, in one transaction
//! inbox                 a user's list of conversations, in the order of activity and in the order of change
//! account    due        users and their data; scheduled work
//! txn                   one write, on top of the others of its group
//! read                  reads, on a view or in a transaction
//! records               the values of rows
//! keys                  the key layout
//! engine                journal, memtables and sorted tables
//! options    measure
//! ```
//!
//! Reads run on the caller's thread, not on the committer's and not in a pool of blocking threads. A read from
//! memory takes a few microseconds, less than handing it over. A read from disk blocks a runtime thread for a
//! fraction of a millisecond.
//!
//! The crate knows no rule of the domain and no HTTP status.

mod account;
mod committer;
mod conversation;
mod due;
mod engine;
mod folder;
mod inbox;
mod keys;
mod measure;
mod options;
mod ports;
mod read;
mod records;
#[cfg(test)]
mod tests;
mod transfer;
mod txn;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use godwit_domain::ports::{Clock, Store, StoreError};
use godwit_domain::snowflake::IdGenerator;

pub use folder::OpenError;
pub use measure::describe_metrics;
pub use options::Options;

use committer::{Committer, Kind};
use engine::Engine;
use folder::Folder;
use inbox::hot::HotQueue;
use read::Read;
use transfer::Tracker;
use txn::Txn;

/// The node number of a store with a single node.
const NODE: u16 = 0;

/// A store in a local folder.
///
/// Dropping it waits for the writes under way. [`EmbeddedStore::close`] before that makes the next start quick.
pub struct EmbeddedStore {
    // Fields are dropped in this order: the committer's thread, the engine, the lock of the folder.
    committer: Committer,
    engine: Arc<Engine>,
    ids: Arc<IdGenerator>,
    folder: Folder,
}

/// Figures for gauges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of tables on disk, without the journal.
    pub table_bytes: u64,
    pub journal_files: usize,
    /// Writes that wait for the committer.
    pub queue_depth: usize,
    /// Groups of writes made durable since the store was opened.
    pub fsyncs: u64,
    /// Rows written or removed since the store was opened.
    pub rows_written: u64,
    /// Hot conversations, whose inbox rows are not settled yet.
    pub hot_conversations: usize,
    /// Free bytes of the disk, as of the last write.
    pub disk_free_bytes: u64,
}

impl EmbeddedStore {
    /// Opens a data folder, or creates it. Blocks: after a crash the journal is replayed, which can take
    /// seconds.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, options: Options) -> Result<Self, OpenError> {
        let folder = Folder::open(path)?;
        let engine = Arc::new(folder.open_engine(&options)?);
        let view = engine.view();
        let floor = highest_id(&view).map_err(|error| folder.unreadable(error))?;
        let hot = HotQueue::read(&view, clock.now()).map_err(|error| folder.unreadable(error))?;
        let tracker = Tracker::read(&view).map_err(|error| folder.unreadable(error))?;
        drop(view);
        let ids = Arc::new(IdGenerator::new(Arc::clone(&clock), NODE, floor));
        let committer =
            Committer::start(Arc::clone(&engine), Arc::clone(&ids), clock, hot, tracker, &options)
                .map_err(|error| folder.failed(error))?;
        Ok(Self { committer, engine, ids, folder })
    }

    /// Finishes the writes requested before and flushes all tables, so that the next start has no journal to
    /// replay. Later writes are refused; reads still work.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.committer.close().await
    }

    pub fn stats(&self) -> Stats {
        let state = self.committer.state();
        Stats {
            table_bytes: self.engine.table_bytes(),
            journal_files: self.engine.journal_files(),
            queue_depth: self.committer.queue_depth(),
            fsyncs: state.commits.load(Ordering::Relaxed),
            rows_written: self.engine.keys_written.load(Ordering::Relaxed),
            hot_conversations: state.hot_conversations.load(Ordering::Relaxed),
            disk_free_bytes: state.free_bytes.load(Ordering::Relaxed),
        }
    }

    async fn write<T, F>(&self, operation: &'static str, write: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.committer.write(operation, Kind::Upkeep, write).await
    }

    /// Like [`write`](Self::write), for content that users store. Such a write is refused first when the disk is almost full.
    async fn write_content<T, F>(&self, operation: &'static str, write: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.committer.write(operation, Kind::Content, write).await
    }

    /// Like [`write`](Self::write), for a write of a transfer, which is allowed while other writes are refused.
    async fn write_for_transfer<T, F>(&self, operation: &'static str, write: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.committer.write(operation, Kind::Transfer, write).await
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    fn ids(&self) -> &IdGenerator {
        &self.ids
    }

    async fn signing_key(&self, offered: [u8; 32]) -> Result<[u8; 32], StoreError> {
        // Once a key is stored this does not write, so it works while writes are refused.
        if let Some(first) = signing_key(&self.engine.view())? {
            return Ok(first);
        }
        let write = move |txn: &mut Txn<'_>| {
            if let Some(first) = signing_key(txn)? {
                return Ok(first);
            }
            txn.put(keys::signing_key(), offered.into());
            Ok(offered)
        };
        self.write("store the signing key", write).await
    }

    fn health(&self) -> Result<(), StoreError> {
        self.committer.health()
    }
}

impl std::fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddedStore").field("folder", &self.folder).finish_non_exhaustive()
    }
}

fn highest_id(store: &impl Read) -> Result<u64, StoreError> {
    let key = keys::highest_id();
    match store.bytes(&key)? {
        Some(bytes) => fixed("highest id", &key, &bytes).map(u64::from_be_bytes),
        None => Ok(0),
    }
}

fn signing_key(store: &impl Read) -> Result<Option<[u8; 32]>, StoreError> {
    let key = keys::signing_key();
    store.bytes(&key)?.map(|bytes| fixed("signing key", &key, &bytes)).transpose()
}

/// Decodes a value of exactly N bytes.
fn fixed<const N: usize>(table: &'static str, key: &keys::Key, bytes: &[u8]) -> Result<[u8; N], StoreError> {
    bytes.try_into().map_err(|_| StoreError::Corrupt {
        table,
        key: keys::display(&key.bytes),
        reason: format!("{} bytes instead of {N}", bytes.len()),
    })
}
