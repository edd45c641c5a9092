//! Options that an operator can set.

/// Limits of memory, disk and latency. The defaults suit a small server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Size of the cache for blocks of tables.
    pub cache_bytes: u64,
    /// A memtable that has grown to this size is flushed to disk. There are three memtables, and up to three
    /// more of each while they are flushed.
    pub memtable_bytes_max: u64,
    /// A journal larger than this makes the engine flush its memtables. After a crash the journal is replayed,
    /// so this bounds the time of the next start.
    pub journal_bytes_max: u64,
    /// Free bytes of the disk below which the store refuses new content. At half of it, it refuses all writes. 0: never.
    pub free_disk_bytes_min: u64,
    /// Writes that may wait for the committer. When the queue is full, further writes wait for a place in it.
    pub queue_requests_max: usize,
    /// The maximum number of writes made durable by one fsync.
    pub group_requests_max: usize,
    /// A group takes no further write once it has this many bytes.
    pub group_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: 64 * 1024 * 1024,
            memtable_bytes_max: 64 * 1024 * 1024,
            journal_bytes_max: 256 * 1024 * 1024,
            free_disk_bytes_min: 512 * 1024 * 1024,
            queue_requests_max: 1_024,
            group_requests_max: 256,
            group_bytes_max: 4 * 1024 * 1024,
        }
    }
}
