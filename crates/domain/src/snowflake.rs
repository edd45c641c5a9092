//! Ids that rise.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_protocol::ids::{EPOCH_MS, NODE_BITS, SEQUENCE_BITS};

use crate::ports::Clock;

const TIME_SHIFT: u32 = NODE_BITS + SEQUENCE_BITS;

/// Makes Snowflakes that always rise: when the clock goes back, or a millisecond is full, it goes on from the last one.
#[derive(Debug)]
pub struct IdGenerator {
    clock: Arc<dyn Clock>,
    node: u64,
    last: AtomicU64,
}

impl IdGenerator {
    /// No id is below this, so that in the API a smaller number is a position and not an id. It is the largest integer
    /// that JavaScript can count to.
    pub const MIN: u64 = 1 << 53;
    /// Nodes are numbered below this.
    pub const NODES_MAX: u16 = 1 << NODE_BITS;

    /// `floor` is the last id that was given out before, by an earlier run.
    pub fn new(clock: Arc<dyn Clock>, node: u16, floor: u64) -> Self {
        assert!(node < Self::NODES_MAX, "node {node} does not fit in {NODE_BITS} bits");
        Self { clock, node: u64::from(node) << SEQUENCE_BITS, last: AtomicU64::new(floor.max(Self::MIN)) }
    }

    pub fn next(&self) -> u64 {
        self.next_after(0)
    }

    /// An id above `other`, which another node may have made with a clock that is ahead of this one.
    pub fn next_after(&self, other: u64) -> u64 {
        let now_ms = self.clock.now().as_millis().saturating_sub(EPOCH_MS).max(0) as u64;
        let from_clock = (now_ms << TIME_SHIFT) | self.node;
        let mut issued = 0;
        let always = self.last.fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| {
            issued = from_clock.max(self.successor(last.max(other)));
            Some(issued)
        });
        debug_assert!(always.is_ok(), "the update never declines");
        issued
    }

    /// The highest id given out so far.
    pub fn last(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// The lowest id of this node above another.
    fn successor(&self, id: u64) -> u64 {
        let millisecond = id >> TIME_SHIFT << TIME_SHIFT;
        let first_of_node = millisecond | self.node;
        let last_of_node = first_of_node | ((1 << SEQUENCE_BITS) - 1);
        if id < first_of_node {
            first_of_node
        } else if id < last_of_node {
            id + 1
        } else {
            first_of_node + (1 << TIME_SHIFT)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::AtomicI64;

    use godwit_protocol::{MessageId, Timestamp};

    use super::*;

    #[derive(Debug)]
    struct SetClock(AtomicI64);

    impl Clock for SetClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(self.0.load(Ordering::Relaxed))
        }
    }

    const NOON_MS: i64 = 1_800_000_000_000;

    fn generator(node: u16, floor: u64) -> (Arc<SetClock>, IdGenerator) {
        let clock = Arc::new(SetClock(AtomicI64::new(NOON_MS)));
        (clock.clone(), IdGenerator::new(clock, node, floor))
    }

    #[test]
    fn ids_rise_also_when_the_clock_goes_back_and_when_a_millisecond_is_full() {
        let (clock, ids) = generator(5, 0);
        let mut last = 0;
        for step in 0..20_000 {
            if step == 10_000 {
                clock.0.fetch_sub(3_600_000, Ordering::Relaxed);
            }
            let id = ids.next();
            assert!(id > last);
            assert_eq!((id >> SEQUENCE_BITS) & 1023, 5, "an id must keep the bits of its node");
            last = id;
        }
    }

    #[test]
    fn an_id_carries_the_time_of_the_clock() {
        let (_, ids) = generator(0, 0);
        assert_eq!(MessageId::new(ids.next()).timestamp(), Timestamp::from_millis(NOON_MS));
    }

    #[test]
    fn a_restart_goes_on_above_what_was_given_out() {
        let (_, ids) = generator(3, 0);
        let ahead = ids.next_after(ids.next() + (3_600_000 << 22));
        let (_, restarted) = generator(3, ahead);
        assert!(restarted.next() > ahead);
    }

    #[test]
    fn nodes_never_make_the_same_id_although_they_push_each_other_forward() {
        let (_, a) = generator(1, 0);
        let (_, b) = generator(2, 0);
        let (mut seen, mut last) = (HashSet::new(), 0);
        for _ in 0..10_000 {
            for ids in [&a, &b] {
                let id = ids.next_after(last);
                assert!(id > last && seen.insert(id));
                last = id;
            }
        }
    }

    #[test]
    fn threads_never_get_the_same_id() {
        let (_, ids) = generator(0, 0);
        let all: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..5_000).map(|_| ids.next()).collect::<Vec<_>>())).collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }

    #[test]
    fn ids_are_above_what_javascript_can_count() {
        let clock = Arc::new(SetClock(AtomicI64::new(0)));
        assert!(IdGenerator::new(clock, 0, 0).next() > IdGenerator::MIN);
    }
}
