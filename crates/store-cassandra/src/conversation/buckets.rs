//! Buckets. A log is cut into buckets, each a partition of its own, so that no partition grows with the log.
//!
//! An append is written to one partition, the bucket of its first entry. So the last append of a bucket may
//! reach into the sequence numbers of the next bucket, by less than [`APPEND_ENTRIES_MAX`]. An entry is in the
//! bucket of its seq or, if it is among the first of that bucket, possibly in the bucket before.

use godwit_domain::model::Entry;
use godwit_protocol::Seq;

pub(super) const BUCKET_ENTRIES: u64 = 4_096;
/// Entries per append. The batches of the domain are smaller.
pub(super) const APPEND_ENTRIES_MAX: usize = 1_024;

/// The bucket of an append that begins with this entry.
pub(super) const fn of_append(first: Seq) -> u64 {
    first.get() / BUCKET_ENTRIES
}

/// The first bucket that may contain the entry or one after it.
pub(super) const fn first_with(seq: Seq) -> u64 {
    let bucket = of_append(seq);
    if bucket > 0 && seq.get() % BUCKET_ENTRIES < APPEND_ENTRIES_MAX as u64 { bucket - 1 } else { bucket }
}

/// The first entry of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BucketStart {
    pub(super) bucket: u64,
    pub(super) seq: Seq,
    pub(super) id: u64,
}

impl BucketStart {
    pub(super) const fn new(bucket: u64, first: &Entry) -> Self {
        Self { bucket, seq: first.seq, id: first.id }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_in_the_bucket_of_its_append() {
        for first in 1..3 * BUCKET_ENTRIES {
            let bucket = of_append(Seq::new(first));
            for seq in [first, first + APPEND_ENTRIES_MAX as u64 - 1] {
                let (from, to) = (first_with(Seq::new(seq)), of_append(Seq::new(seq)));
                assert!((from..=to).contains(&bucket), "{seq} of an append at {first}");
            }
        }
    }
}
