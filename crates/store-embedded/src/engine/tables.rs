//! The memtables and tables of one tree, as a reader found them.
//!
//! `lsm-tree` protects its list of tables with a lock, and holds the lock while it makes a changed list durable. Readers copy the
//! list from here instead and never wait for that lock. The last list that names a table releases its file and memory.

use std::sync::Arc;

use lsm_tree::table::filter::standard_bloom::Builder as Filter;
use lsm_tree::{AbstractTree, AnyTree, InternalValue, Memtable, Tree};

use super::{Bytes, Row};
use crate::engine::key::KeyRange;

pub(super) struct Tables {
    /// The newest first.
    memtables: Vec<Arc<Memtable>>,
    get_on_disk: Box<GetOnDisk>,
    scan: Box<Scan>,
}

// The types of the lists are private to the library, so closures hold them.
type GetOnDisk = dyn Fn(&[u8], u64) -> lsm_tree::Result<Option<InternalValue>> + Send + Sync;
type Scan = dyn Fn(&KeyRange, u64) -> Box<Rows> + Send + Sync;
pub(super) type Rows = dyn DoubleEndedIterator<Item = lsm_tree::Result<Row>>;

impl Tables {
    /// The tables of a tree. `sealed` are its sealed memtables, the oldest first; some of them may be on disk already.
    pub(super) fn of(tree: &AnyTree, sealed: &[Arc<Memtable>]) -> Self {
        let list = tree.get_version_history_lock().latest_version();
        let on_disk = tree.current_version();
        let memtables = std::iter::once(&list.active_memtable).chain(sealed.iter().rev()).cloned().collect();
        let get_on_disk = move |key: &[u8], moment| {
            let hash = Filter::get_hash(key);
            let runs = on_disk.iter_levels().flat_map(|level| level.iter());
            let mut tables = runs.filter_map(|run| run.get_for_key(key));
            tables.find_map(|table| table.get(key, moment, hash).transpose()).transpose()
        };
        let scan = move |range: &KeyRange, moment| {
            let bounds = range.start.clone()..range.end.clone();
            let rows = Tree::create_internal_range(list.clone(), &bounds, moment, None);
            Box::new(rows.map(|row| row.map(|row| (row.key.user_key, row.value)))) as Box<Rows>
        };
        Self { memtables, get_on_disk: Box::new(get_on_disk), scan: Box::new(scan) }
    }

    /// The value of a row as of the last commit before `moment`.
    pub(super) fn get(&self, key: &[u8], moment: u64) -> lsm_tree::Result<Option<Bytes>> {
        let in_memory = self.memtables.iter().find_map(|memtable| memtable.get(key, moment));
        let found = match in_memory {
            Some(row) => Some(row),
            None => (self.get_on_disk)(key, moment)?,
        };
        Ok(found.filter(|row| !row.is_tombstone()).map(|row| row.value))
    }

    /// The rows of a range as of the last commit before `moment`.
    pub(super) fn scan(&self, range: &KeyRange, moment: u64) -> Box<Rows> {
        (self.scan)(range, moment)
    }
}
