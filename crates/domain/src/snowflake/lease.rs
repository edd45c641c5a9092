//! The lease of a node number: the ids that a node may give out, and until when.

use std::sync::atomic::{AtomicU64, Ordering};

use godwit_protocol::ids::ID_MIN;
use thiserror::Error;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{IdGenerator, SEQUENCE_BITS};
use crate::ports::StoreError;

/// The value of `last` after the lease has ended.
const ENDED: u64 = u64::MAX;
/// A time that never comes.
const NEVER_MS: u64 = u64::MAX;

/// The right to give out ids with one node number, shared by the generator that uses it and the store that renews it.
///
/// Two bounds make every id unique. First, no id is above the *ceiling*, which was written to the store before. The next
/// holder of the node number starts above it, whatever the clocks and pauses of both. Second, a deadline on the monotonic
/// clock ends the lease, so that a node that cannot reach its store stops giving out ids before its number goes to another
/// node.
///
/// The lease is lock-free: every step is a compare-and-set of the last id. Ending the lease changes that value too, so
/// [`Lease::end`] counts every id that was given out.
#[derive(Debug)]
pub struct Lease {
    /// The highest id given out, or [`ENDED`].
    last: AtomicU64,
    /// The highest id given out before the end.
    last_before_end: AtomicU64,
    /// Shifted to its position in an id.
    node: AtomicU64,
    ceiling: AtomicU64,
    /// Milliseconds since `origin`.
    until_ms: AtomicU64,
    origin: Instant,
    /// The highest id that was refused because it is above the ceiling.
    wanted: AtomicU64,
    too_low: Notify,
}

/// The lease that the store has granted.
#[derive(Debug, Clone, Copy)]
pub struct Grant {
    pub node: u16,
    /// Every id is above the floor.
    pub floor: u64,
    /// No id is above the ceiling.
    pub ceiling: u64,
    /// The lease gives out no ids from this time on.
    pub until: Instant,
}

/// Why no id was given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum IdsRefused {
    #[error("the lease of this server's node number has expired and is not renewed yet")]
    Ended,
    #[error("another server's clock is so far ahead that this server's lease does not cover its ids yet")]
    AboveCeiling,
}

impl From<IdsRefused> for StoreError {
    fn from(refused: IdsRefused) -> Self {
        Self::Unavailable { operation: "give out an id", source: Box::new(refused) }
    }
}

impl Lease {
    pub fn new(grant: Grant) -> Self {
        let lease = Self::unlimited(grant.node, grant.floor);
        lease.ceiling.store(grant.ceiling, Ordering::Relaxed);
        lease.until_ms.store(lease.in_ms(grant.until), Ordering::Relaxed);
        lease
    }

    /// The lease of a store with a single node.
    pub(super) fn unlimited(node: u16, floor: u64) -> Self {
        Self {
            last: AtomicU64::new(floor.max(ID_MIN)),
            last_before_end: AtomicU64::new(0),
            node: AtomicU64::new(node_bits(node)),
            ceiling: AtomicU64::new(u64::MAX - 1),
            until_ms: AtomicU64::new(NEVER_MS),
            origin: Instant::now(),
            wanted: AtomicU64::new(0),
            too_low: Notify::new(),
        }
    }

    /// Extends the lease with a higher ceiling and a later deadline.
    pub fn renew(&self, ceiling: u64, until: Instant) {
        self.ceiling.fetch_max(ceiling, Ordering::Release);
        self.until_ms.store(self.in_ms(until), Ordering::Release);
    }

    /// Ends the lease. Returns the highest id that was given out.
    pub fn end(&self) -> u64 {
        self.until_ms.store(0, Ordering::Release);
        let last = self.last.swap(ENDED, Ordering::AcqRel);
        if last != ENDED {
            self.last_before_end.store(last, Ordering::Release);
        }
        self.last_before_end.load(Ordering::Acquire)
    }

    /// Starts again after the end, with another node number.
    pub fn begin(&self, grant: Grant) {
        let highest = self.end();
        self.node.store(node_bits(grant.node), Ordering::Release);
        self.ceiling.store(grant.ceiling, Ordering::Release);
        self.until_ms.store(self.in_ms(grant.until), Ordering::Release);
        // The last store publishes the others. Its value differs from every value before the end, so a compare-and-set that
        // began then fails.
        self.last.store(grant.floor.max(highest + 1), Ordering::Release);
    }

    /// The highest id given out so far.
    pub fn last(&self) -> u64 {
        match self.last.load(Ordering::Acquire) {
            ENDED => self.last_before_end.load(Ordering::Acquire),
            last => last,
        }
    }

    /// The highest id that was given out or refused because of the ceiling.
    pub fn wanted(&self) -> u64 {
        self.last().max(self.wanted.load(Ordering::Acquire))
    }

    /// Waits until an id is refused because of the ceiling.
    pub async fn too_low(&self) {
        self.too_low.notified().await;
    }

    /// `Ok` if the lease gives out ids now.
    pub fn check(&self) -> Result<(), IdsRefused> {
        let until_ms = self.until_ms.load(Ordering::Acquire);
        let is_over = until_ms != NEVER_MS && self.in_ms(Instant::now()) >= until_ms;
        if is_over { Err(IdsRefused::Ended) } else { Ok(()) }
    }

    /// Gives out the id that `next` computes from the last id and the node's bits.
    pub(super) fn issue(&self, next: impl Fn(u64, u64) -> u64) -> Result<u64, IdsRefused> {
        self.check()?;
        let mut last = self.last.load(Ordering::Acquire);
        loop {
            if last == ENDED {
                return Err(IdsRefused::Ended);
            }
            let id = next(last, self.node.load(Ordering::Acquire));
            if id > self.ceiling.load(Ordering::Acquire) {
                self.wanted.fetch_max(id, Ordering::AcqRel);
                self.too_low.notify_one();
                return Err(IdsRefused::AboveCeiling);
            }
            match self.last.compare_exchange_weak(last, id, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(id),
                Err(newer) => last = newer,
            }
        }
    }

    /// Rounds down, so that a lease ends early rather than late.
    fn in_ms(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.origin).as_millis() as u64
    }
}

fn node_bits(node: u16) -> u64 {
    assert!(node < IdGenerator::NODES_MAX, "nodes are numbered below {}", IdGenerator::NODES_MAX);
    u64::from(node) << SEQUENCE_BITS
}
