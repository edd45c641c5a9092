//! The log-structured merge trees, one for each [`Table`], and how they are kept on disk.

use std::path::Path;
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
        let has_written = tree.flush(&tree.get_flush_lock(), self.views.watermark())?.is_some();
        if has_written {
            self.refresh(place);
        }
        Ok(has_written)
    }

    /// Merges tables of a tree if that is due. Returns whether it did.
    pub(super) fn merge(&self, place: usize) -> Result<bool, EngineError> {
        let tree = &self.trees[place];
        let before = tree.current_version().id();
        let is_small = tree.disk_space() <= self.small_bytes_max;
        let strategy = if is_small { &self.strategy_of_small } else { &self.strategy };
        tree.compact(Arc::clone(strategy) as _, self.views.watermark())?;
        let has_merged = tree.current_version().id() != before;
        if has_merged {
            self.refresh(place);
        }
        Ok(has_merged)
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
