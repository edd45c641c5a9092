//! The trees of sorted tables, one for each table of the key layout, and how they are kept on disk.

use std::path::Path;
use std::sync::Arc;

use lsm_tree::compaction::Leveled;
use lsm_tree::config::{BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry};
use lsm_tree::{
    AbstractTree, AnyTree, Cache, CompressionType, Config, DescriptorTable, SequenceNumberCounter,
};

use super::EngineError;
use super::journal::Reached;
use crate::keys::Table;
use crate::options::Options;

/// Files of tables that are kept open.
const OPEN_FILES_MAX: usize = 512;
/// Tables just written, which are few, are asked for whatever is new, most of which they do not have.
const FALSE_POSITIVES_NEWEST: f32 = 0.0001;
const FILTER_BITS: f32 = 10.0;

pub(super) struct Trees {
    trees: [AnyTree; Table::COUNT],
    strategy: Arc<Leveled>,
    /// The number of the next commit. Changes of the trees themselves take numbers too.
    seqno: SequenceNumberCounter,
}

impl Trees {
    pub(super) fn open(folder: &Path, options: &Options) -> Result<Self, EngineError> {
        let seqno = SequenceNumberCounter::default();
        let cache = Arc::new(Cache::with_capacity_bytes(options.cache_bytes));
        let files = Arc::new(DescriptorTable::new(OPEN_FILES_MAX));
        let tree = |table: Table| {
            // Nobody asks the trees what can be seen: see `Views`.
            let visible = SequenceNumberCounter::default();
            Config::new(folder.join(table.name()), seqno.clone(), visible)
                .use_cache(Arc::clone(&cache))
                .use_descriptor_table(Some(Arc::clone(&files)))
                .data_block_compression_policy(CompressionPolicy::new([
                    CompressionType::None,
                    CompressionType::None,
                    CompressionType::Lz4,
                ]))
                .filter_policy(FilterPolicy::new([
                    FilterPolicyEntry::Bloom(BloomConstructionPolicy::FalsePositiveRate(
                        FALSE_POSITIVES_NEWEST,
                    )),
                    FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(FILTER_BITS)),
                ]))
                .open()
        };
        let [log, index, state] = Table::ALL;
        let trees = Self {
            trees: [tree(log)?, tree(index)?, tree(state)?],
            strategy: Arc::default(),
            seqno: seqno.clone(),
        };
        seqno.fetch_max(trees.persisted().into_iter().max().map_or(0, |highest| highest + 1));
        Ok(trees)
    }

    pub(super) fn of(&self, table: Table) -> &AnyTree {
        &self.trees[table.place()]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &AnyTree)> {
        self.trees.iter().enumerate()
    }

    /// Up to which commit the tables on disk have everything. A merge that drops the last traces of removed rows can make
    /// it less than it was; never more.
    pub(super) fn persisted(&self) -> Reached {
        self.trees.each_ref().map(|tree| tree.get_highest_persisted_seqno().unwrap_or(0))
    }

    pub(super) fn next_seqno(&self) -> u64 {
        self.seqno.next()
    }

    /// Numbers up to this one have been used.
    pub(super) fn skip_to(&self, seqno: u64) {
        self.seqno.fetch_max(seqno + 1);
    }

    /// Merges tables of a tree if that is due. Says whether it did.
    pub(super) fn merge(&self, tree: &AnyTree, watermark: u64) -> Result<bool, EngineError> {
        let before = tree.current_version().id();
        tree.compact(Arc::clone(&self.strategy) as _, watermark)?;
        Ok(tree.current_version().id() != before)
    }
}
