//! The log-structured merge trees, one for each [`Table`], and how they are kept on disk.
//!
//! A flush or a merge that finds no room on the disk can be repeated: its inputs are untouched until its output is complete. What
//! it has written so far is removed, so that the attempts do not fill the disk ([`Trees::remove_leftovers`]).

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use lsm_tree::compaction::Leveled;
use lsm_tree::config::{
    BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry, PartitioningPolicy,
    PinningPolicy,
};
use lsm_tree::{
    AbstractTree, AnyTree, Cache, CompressionType, Config, DescriptorTable, Memtable, SequenceNumberCounter,
};

use super::EngineError;
use super::journal::Reached;
use super::tables::Tables;
use super::views::Views;
use crate::engine::key::Table;
use crate::options::Options;

/// The folder of a tree's tables, which are named by their numbers, and the file that names its newest version.
const TABLES_FOLDER: &str = "tables";
const CURRENT_VERSION_FILE: &str = "current";
/// How many files of tables are kept open.
const OPEN_FILES_MAX: usize = 512;
/// Lookups of new keys read the newest tables first and mostly find nothing there. These tables are few, so a precise filter is
/// cheap.
const FALSE_POSITIVES_NEWEST: f32 = 0.0001;
const FILTER_BITS: f32 = 10.0;

pub(super) struct Trees {
    trees: [AnyTree; Table::COUNT],
    /// The sealed memtables that may not be on disk, the oldest first. Locked while the tables that readers see are
    /// replaced.
    sealed: [Mutex<Vec<Arc<Memtable>>>; Table::COUNT],
    /// The tables that merges have replaced, whose files exist while a reader has them. Locked during a merge.
    replaced: [Mutex<HashSet<u64>>; Table::COUNT],
    folder: PathBuf,
    pub(super) views: Views,
    strategy: Arc<Leveled>,
    /// For trees smaller than a memtable: every table slows a scan down, and merging so little data costs hardly anything.
    strategy_of_small: Arc<Leveled>,
    small_bytes_max: u64,
    /// The next sequence number. Flushes and merges take numbers too.
    seqno: SequenceNumberCounter,
}

impl Trees {
    pub(super) fn open(folder: &Path, options: &Options) -> Result<Self, EngineError> {
        let seqno = SequenceNumberCounter::default();
        let cache = Arc::new(Cache::with_capacity_bytes(options.cache_bytes));
        let files = Arc::new(DescriptorTable::new(OPEN_FILES_MAX));
        let tree = |table: Table| {
            // The visibility counter of the library is unused: `Views` decides what readers see.
            let visible = SequenceNumberCounter::default();
            Config::new(folder.join(table.name()), seqno.clone(), visible)
                .use_cache(Arc::clone(&cache))
                .use_descriptor_table(Some(Arc::clone(&files)))
                .data_block_compression_policy(CompressionPolicy::new([
                    CompressionType::None,
                    CompressionType::None,
                    CompressionType::Lz4,
                ]))
                // The filter of a large table has megabytes and its index hundreds of kilobytes, too much for the cache.
                // Those of a new table stay in memory; those of a merged one are partitioned and read in small parts.
                .filter_block_pinning_policy(PinningPolicy::all(true))
                .index_block_pinning_policy(PinningPolicy::all(true))
                .filter_block_partitioning_policy(PartitioningPolicy::new([false, true]))
                .index_block_partitioning_policy(PartitioningPolicy::new([false, true]))
                .filter_policy(FilterPolicy::new([
                    FilterPolicyEntry::Bloom(BloomConstructionPolicy::FalsePositiveRate(
                        FALSE_POSITIVES_NEWEST,
                    )),
                    FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(FILTER_BITS)),
                ]))
                .open()
        };
        let [log, index, state] = Table::ALL;
        let trees = [tree(log)?, tree(index)?, tree(state)?];
        let trees = Self {
            views: Views::new(trees.each_ref().map(|tree| Tables::of(tree, &[]))),
            sealed: Default::default(),
            replaced: Default::default(),
            folder: folder.to_owned(),
            trees,
            strategy: Arc::default(),
            strategy_of_small: Arc::new(Leveled::default().with_l0_threshold(1)),
            small_bytes_max: options.memtable_bytes_max,
            seqno: seqno.clone(),
        };
        seqno.fetch_max(trees.persisted().into_iter().max().map_or(0, |highest| highest + 1));
        Ok(trees)
    }

    /// The active memtables.
    pub(super) fn memtables(&self) -> [Arc<Memtable>; Table::COUNT] {
        self.trees.each_ref().map(AbstractTree::active_memtable)
    }

    /// Bytes on disk.
    pub(super) fn table_bytes(&self) -> u64 {
        self.trees.iter().map(AbstractTree::disk_space).sum()
    }

    /// How many memtables wait for a flush, and how many runs of tables wait for a merge.
    pub(super) fn backlog(&self, place: usize) -> (usize, usize) {
        let tree = &self.trees[place];
        (tree.sealed_memtable_count(), tree.l0_run_count())
    }

    /// For each tree, the highest `seqno` in its tables on disk. A merge that drops the last tombstones can lower it, and
    /// nothing but a flush raises it.
    pub(super) fn persisted(&self) -> Reached {
        self.trees.each_ref().map(|tree| tree.get_highest_persisted_seqno().unwrap_or(0))
    }

    pub(super) fn next_seqno(&self) -> u64 {
        self.seqno.next()
    }

    /// Numbers up to this one are in use.
    pub(super) fn skip_to(&self, seqno: u64) {
        self.seqno.fetch_max(seqno + 1);
    }

    /// Seals the active memtable and begins a new one.
    pub(super) fn seal(&self, place: usize) -> Arc<Memtable> {
        let tree = &self.trees[place];
        let mut sealed = self.sealed[place].lock().unwrap_or_else(PoisonError::into_inner);
        sealed.extend(tree.rotate_memtable());
        self.views.show(place, Tables::of(tree, &sealed));
        tree.active_memtable()
    }

    /// Flushes the sealed memtables. Returns whether there were any.
    pub(super) fn flush(&self, place: usize) -> Result<bool, EngineError> {
        let tree = &self.trees[place];
        let outcome = tree.flush(&tree.get_flush_lock(), self.views.watermark());
        let has_written = match outcome {
            Ok(written) => written.is_some(),
            Err(error) => {
                return Err(Self::failed(error, || {
                    // Waits for a merge that runs.
                    let replaced = self.replaced[place].lock().unwrap_or_else(PoisonError::into_inner);
                    self.remove_leftovers(place, &replaced)
                }));
            }
        };
        if has_written {
            self.refresh(place);
        }
        Ok(has_written)
    }

    /// Merges tables of a tree if that is due. Returns whether it did.
    pub(super) fn merge(&self, place: usize) -> Result<bool, EngineError> {
        let tree = &self.trees[place];
        let mut replaced = self.replaced[place].lock().unwrap_or_else(PoisonError::into_inner);
        let before = tree.current_version();
        let is_small = tree.disk_space() <= self.small_bytes_max;
        let strategy = if is_small { &self.strategy_of_small } else { &self.strategy };
        let outcome = tree.compact(Arc::clone(strategy) as _, self.views.watermark());
        let has_merged = tree.current_version().id() != before.id();
        if has_merged {
            let after = self.table_ids(place);
            replaced.retain(|id| self.table_file(place, *id).exists());
            replaced.extend(before.iter_tables().map(lsm_tree::Table::id).filter(|id| !after.contains(id)));
            self.refresh(place);
        }
        match outcome {
            Ok(()) => Ok(has_merged),
            Err(error) => Err(Self::failed(error, || self.remove_leftovers(place, &replaced))),
        }
    }

    /// The error of a flush or a merge. It is [`EngineError::NoRoom`] if the work can be repeated.
    fn failed(
        error: lsm_tree::Error,
        remove_leftovers: impl FnOnce() -> Result<(), EngineError>,
    ) -> EngineError {
        match error {
            lsm_tree::Error::Io(error) if lacks_room(&error) => {
                remove_leftovers().err().unwrap_or(EngineError::NoRoom(error))
            }
            error => error.into(),
        }
    }

    /// Fails if the version on disk is not the one in memory, which a failure in the last step of a new version leaves unknown.
    fn check_version(&self, place: usize) -> Result<(), EngineError> {
        let bytes = fs::read(self.tree_folder(place).join(CURRENT_VERSION_FILE))?;
        let on_disk = bytes.first_chunk().map(|id| u64::from_le_bytes(*id));
        if on_disk == Some(self.trees[place].current_version().id()) {
            Ok(())
        } else {
            Err(EngineError::Failed("the disk was full while a new version of the tables was written".into()))
        }
    }

    /// Removes the files of tables that are not complete: those that are in no version and that no merge has replaced. Runs
    /// while no merge does.
    fn remove_leftovers(&self, place: usize, replaced: &HashSet<u64>) -> Result<(), EngineError> {
        let _no_flush = self.trees[place].get_flush_lock();
        self.check_version(place)?;
        let current = self.table_ids(place);
        for file in fs::read_dir(self.tree_folder(place).join(TABLES_FOLDER))? {
            let file = file?;
            let id = file.file_name().to_str().and_then(|name| name.parse::<u64>().ok());
            if id.is_some_and(|id| !current.contains(&id) && !replaced.contains(&id)) {
                fs::remove_file(file.path())?;
            }
        }
        Ok(())
    }

    /// The tables of the current version.
    fn table_ids(&self, place: usize) -> HashSet<u64> {
        self.trees[place].current_version().iter_tables().map(lsm_tree::Table::id).collect()
    }

    fn tree_folder(&self, place: usize) -> PathBuf {
        self.folder.join(Table::ALL[place].name())
    }

    fn table_file(&self, place: usize, id: u64) -> PathBuf {
        self.tree_folder(place).join(TABLES_FOLDER).join(id.to_string())
    }

    /// The file of a version that is written after so many others.
    #[cfg(test)]
    pub(super) fn version_file(&self, place: usize, after: u64) -> PathBuf {
        self.tree_folder(place).join(format!("v{}", self.trees[place].current_version().id() + 1 + after))
    }

    /// The number of files in the folder of tables, and of tables that are in use.
    #[cfg(test)]
    pub(super) fn files_and_tables(&self, place: usize) -> (usize, usize) {
        let replaced = self.replaced[place].lock().unwrap();
        let files = fs::read_dir(self.tree_folder(place).join(TABLES_FOLDER)).unwrap().count();
        let kept = replaced.iter().filter(|id| self.table_file(place, **id).exists()).count();
        (files, self.table_ids(place).len() + kept)
    }

    /// For each merged table: the bytes of its filter, and the bytes of filter and index that stay in memory.
    #[cfg(test)]
    pub(super) fn merged(&self, place: usize) -> Vec<(usize, usize)> {
        let version = self.trees[place].current_version();
        let tables = version.iter_levels().skip(1).flat_map(|level| level.iter()).flat_map(|run| run.iter());
        let sizes = tables.map(|table| {
            (table.filter_size() as usize, table.pinned_filter_size() + table.pinned_block_index_size())
        });
        sizes.collect()
    }

    /// Shows readers the tables that the tree has now.
    fn refresh(&self, place: usize) {
        let tree = &self.trees[place];
        let mut sealed = self.sealed[place].lock().unwrap_or_else(PoisonError::into_inner);
        // Counted before the list of tables is read: rows that are flushed in between are visible twice rather than never.
        let written = sealed.len().saturating_sub(tree.sealed_memtable_count());
        sealed.drain(..written);
        self.views.show(place, Tables::of(tree, &sealed));
    }
}

/// True if the disk, or the quota of the user, is full.
pub(super) fn lacks_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
