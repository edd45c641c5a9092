//! What an operator can set.

/// Limits of memory, disk and latency. The defaults suit a small server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Blocks of tables that are kept in memory for reading.
    pub cache_bytes: u64,
    /// A table in memory is written to disk when it has grown to this. There are three such tables, and while they
    /// are being written up to three more of each.
    pub memtable_bytes_max: u64,
    /// A journal larger than this makes the engine write its tables out. After a crash the journal is read again, so it
    /// bounds the time of the next start.
    pub journal_bytes_max: u64,
    /// Writes that may wait for the committer. Who comes when the queue is full waits for a place in it.
    pub queue_requests_max: usize,
    /// Writes that are made durable by one fsync, at most.
    pub group_requests_max: usize,
    /// A group takes no further write when it has this many bytes.
    pub group_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: 64 * 1024 * 1024,
            memtable_bytes_max: 64 * 1024 * 1024,
            journal_bytes_max: 256 * 1024 * 1024,
            queue_requests_max: 1_024,
            group_requests_max: 256,
            group_bytes_max: 4 * 1024 * 1024,
        }
    }
}
