//! The store ports on an embedded engine: one folder, one process, nothing beside it.
//!
//! Read in this order:
//!
//! - `folder`: the data folder, its lock and its format; [`OpenError`]
//! - `engine`: the only file that names the engine: read, scan, commit
//! - `keys`: the key layout; `records`: what is in the rows
//! - `txn`: one write, on top of those of its group; `read`: what a write and a mere read have in common
//! - `committer`, `worker`: the one thread that writes, and makes a group of writes durable with one fsync
//! - `users`, `devices`, `blocks`, `conversations`, `inbox`, `personal`: the ports, one file each
//! - `append`: entries and all that follows from them, in one transaction; `erasing` is a part of it
//! - `loading`, `history` (the log), `projections`, `cursors`: what is read of a conversation; `account_log`
//! - `transfer`: moving everything to another store, or from one, and keeping track of what changes meanwhile
//! - `listing`: whose inbox has a conversation; `order`, `hot`: how the inbox stays in order without moving rows with every
//!   message; `changes`: the order of change, by which somebody who comes back finds what is new
//!
//! Reads do not go through the committer and not to a pool of blocking threads: they take a few microseconds from memory,
//! and handing one to another thread would take longer. One that goes to the disk holds up its thread of the runtime
//! for a fraction of a millisecond.
//!
//! The crate knows no rules: it does not ask whether a user may do what they do, and no HTTP status.

mod account_log;
mod append;
mod blocks;
mod changes;
mod chunks;
mod committer;
mod conversations;
mod cursors;
mod devices;
mod engine;
mod erasing;
mod folder;
mod history;
mod hot;
mod inbox;
mod keys;
mod listing;
mod loading;
mod measure;
mod options;
mod order;
mod personal;
mod projections;
mod read;
mod records;
#[cfg(test)]
mod tests;
mod transfer;
mod txn;
mod users;
mod worker;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use godwit_domain::ports::{Clock, Store, StoreError};
use godwit_domain::snowflake::IdGenerator;

pub use folder::OpenError;
pub use measure::describe_metrics;
pub use options::Options;

use committer::Committer;
use engine::Engine;
use folder::Folder;
use hot::HotQueue;
use read::Read;
use transfer::Tracker;
use txn::Txn;

/// The node number of a store that has one node.
const NODE: u16 = 0;

/// A store in a folder of this machine.
///
/// Dropping it waits for the writes under way. [`EmbeddedStore::close`] before that makes the next start quick.
pub struct EmbeddedStore {
    // The order of the fields is that of their end: the thread that writes, the engine, the lock of the folder.
    committer: Committer,
    engine: Arc<Engine>,
    ids: Arc<IdGenerator>,
    folder: Folder,
}

/// What a store says about itself, for gauges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Tables on disk, without the journal.
    pub table_bytes: u64,
    pub journal_files: usize,
    /// Writes that wait for the committer.
    pub queue_depth: usize,
    /// Groups of writes made durable since the store was opened.
    pub fsyncs: u64,
    /// Rows written or removed since the store was opened.
    pub rows_written: u64,
    /// Conversations whose place in the inboxes is not settled yet.
    pub hot_conversations: usize,
}

impl EmbeddedStore {
    /// Opens a data folder, or makes it. Blocks: after a crash the journal is read again, which can take seconds.
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

    /// Finishes what was asked before, and writes everything out, so that the next start has nothing to read again. Reads
    /// go on; writes are refused from here on.
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
        }
    }

    async fn write<T, F>(&self, operation: &'static str, write: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.committer.write(operation, write).await
    }

    /// The same for what is a part of a move, which goes on while other writes are refused.
    async fn write_of_move<T, F>(&self, operation: &'static str, write: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.committer.write_of_move(operation, write).await
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    fn ids(&self) -> &IdGenerator {
        &self.ids
    }

    async fn signing_key(&self, offered: [u8; 32]) -> Result<[u8; 32], StoreError> {
        // Once there is one this is no write, and goes on while those are refused.
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
        self.write("keep the signing key", write).await
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

/// A value that is nothing but a number of bytes.
fn fixed<const N: usize>(table: &'static str, key: &keys::Key, bytes: &[u8]) -> Result<[u8; N], StoreError> {
    bytes.try_into().map_err(|_| StoreError::Corrupt {
        table,
        key: keys::display(&key.bytes),
        reason: format!("{} bytes instead of {N}", bytes.len()),
    })
}
