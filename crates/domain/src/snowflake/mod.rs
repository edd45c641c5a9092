//! Snowflake ids, which increase.

mod lease;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use godwit_protocol::Timestamp;
use godwit_protocol::ids::{EPOCH_MS, NODE_BITS, SEQUENCE_BITS};

use crate::ports::{Clock, StoreError};

pub use lease::{Grant, IdsRefused, Lease};

const TIME_SHIFT: u32 = NODE_BITS + SEQUENCE_BITS;

/// Generates Snowflake ids that always increase. If the clock goes back or a millisecond is full, it continues from the last
/// id.
#[derive(Debug)]
pub struct IdGenerator {
    clock: Arc<dyn Clock>,
    lease: Arc<Lease>,
}

impl IdGenerator {
    /// Node numbers are below this.
    pub const NODES_MAX: u16 = 1 << NODE_BITS;

    /// For a store that no other node uses: never refuses. `floor` is the last id that an earlier run gave out.
    pub fn new(clock: Arc<dyn Clock>, node: u16, floor: u64) -> Self {
        Self::leased(clock, Arc::new(Lease::unlimited(node, floor)))
    }

    /// For a store that several nodes share.
    pub const fn leased(clock: Arc<dyn Clock>, lease: Arc<Lease>) -> Self {
        Self { clock, lease }
    }

    /// The next id. Fails only if ids are leased and the lease is not valid now.
    pub fn next(&self) -> Result<u64, StoreError> {
        self.next_after(0)
    }

    /// An id above `other`, which another node may have given out with a clock that is ahead.
    pub fn next_after(&self, other: u64) -> Result<u64, StoreError> {
        let from_clock = first_id_at(self.clock.now());
        let next = |last: u64, node: u64| (from_clock | node).max(successor(last.max(other), node));
        Ok(self.lease.issue(next)?)
    }

    /// The highest id given out so far.
    pub fn last(&self) -> u64 {
        self.lease.last()
    }
}

/// The lowest id of a time, whichever node gives it out.
pub fn first_id_at(time: Timestamp) -> u64 {
    (time.as_millis().saturating_sub(EPOCH_MS).max(0) as u64) << TIME_SHIFT
}

/// The time of an id, by the clock of the node that gave it out.
pub const fn time_of(id: u64) -> Timestamp {
    Timestamp::from_millis(EPOCH_MS + (id >> TIME_SHIFT) as i64)
}

/// The lowest id of a node above another id.
const fn successor(id: u64, node: u64) -> u64 {
    let millisecond = id >> TIME_SHIFT << TIME_SHIFT;
    let first_of_node = millisecond | node;
    let last_of_node = first_of_node | ((1 << SEQUENCE_BITS) - 1);
    if id < first_of_node {
        first_of_node
    } else if id < last_of_node {
        id + 1
    } else {
        first_of_node + (1 << TIME_SHIFT)
    }
}
