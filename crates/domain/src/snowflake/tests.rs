use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use godwit_protocol::ids::ID_MIN;
use godwit_protocol::{MessageId, Timestamp};
use tokio::time::{Instant, advance};

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
fn ids_rise_even_if_the_clock_goes_back_or_a_millisecond_is_full() {
    let (clock, ids) = generator(5, 0);
    let mut last = 0;
    for step in 0..20_000 {
        if step == 10_000 {
            clock.0.fetch_sub(3_600_000, Ordering::Relaxed);
        }
        let id = ids.next().unwrap();
        assert!(id > last);
        assert_eq!((id >> SEQUENCE_BITS) & 1023, 5, "an id must keep the bits of its node");
        last = id;
    }
}

#[test]
fn an_id_carries_the_time_of_the_clock() {
    let (_, ids) = generator(0, 0);
    let id = ids.next().unwrap();
    assert_eq!(MessageId::new(id).timestamp(), Timestamp::from_millis(NOON_MS));
    assert_eq!(time_of(id), Timestamp::from_millis(NOON_MS));
}

#[test]
fn ids_after_a_restart_are_above_earlier_ones() {
    let (_, ids) = generator(3, 0);
    let ahead = ids.next_after(ids.next().unwrap() + (3_600_000 << TIME_SHIFT)).unwrap();
    let (_, restarted) = generator(3, ahead);
    assert!(restarted.next().unwrap() > ahead);
}

#[test]
fn nodes_that_push_each_other_forward_never_make_the_same_id() {
    let (_, a) = generator(1, 0);
    let (_, b) = generator(2, 0);
    let (mut seen, mut last) = (HashSet::new(), 0);
    for _ in 0..10_000 {
        for ids in [&a, &b] {
            let id = ids.next_after(last).unwrap();
            assert!(id > last && seen.insert(id));
            last = id;
        }
    }
}

#[test]
fn threads_never_get_the_same_id() {
    let (_, ids) = generator(0, 0);
    let all: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..5_000).map(|_| ids.next().unwrap()).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
}

#[test]
fn ids_exceed_the_integers_of_javascript() {
    let clock = Arc::new(SetClock(AtomicI64::new(0)));
    assert!(IdGenerator::new(clock, 0, 0).next().unwrap() > ID_MIN);
}

const SECOND: Duration = Duration::from_secs(1);

fn id_at(ms: i64) -> u64 {
    first_id_at(Timestamp::from_millis(ms))
}

/// A lease for one second, with a ceiling one minute after noon.
fn grant() -> Grant {
    Grant { node: 7, floor: 0, ceiling: id_at(NOON_MS + 60_000), until: Instant::now() + SECOND }
}

fn leased(grant: Grant) -> (Arc<SetClock>, Arc<Lease>, IdGenerator) {
    let clock = Arc::new(SetClock(AtomicI64::new(NOON_MS)));
    let lease = Arc::new(Lease::new(grant));
    (clock.clone(), lease.clone(), IdGenerator::leased(clock, lease))
}

fn refusal(outcome: Result<u64, StoreError>) -> IdsRefused {
    match outcome {
        Err(StoreError::Unavailable { source, .. }) => *source.downcast().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_lease_gives_out_no_ids_until_it_is_renewed() {
    let (_, lease, ids) = leased(grant());
    advance(SECOND - Duration::from_millis(1)).await;
    let before = ids.next().unwrap();
    advance(Duration::from_millis(1)).await;
    assert_eq!(refusal(ids.next()), IdsRefused::Ended);
    assert_eq!(lease.check(), Err(IdsRefused::Ended));
    // A renewal never shortens a lease.
    lease.renew(id_at(NOON_MS - 60_000), Instant::now() + SECOND);
    assert_eq!(lease.check(), Ok(()));
    assert!(ids.next().unwrap() > before);
}

#[tokio::test(start_paused = true)]
async fn no_id_is_above_the_ceiling() {
    let ceiling = id_at(NOON_MS) | (7 << SEQUENCE_BITS) | 2;
    let (clock, lease, ids) = leased(Grant { ceiling, ..grant() });
    assert_eq!(
        [ids.next().unwrap(), ids.next().unwrap(), ids.next().unwrap()],
        [ceiling - 2, ceiling - 1, ceiling]
    );
    assert_eq!(refusal(ids.next()), IdsRefused::AboveCeiling);
    clock.0.fetch_add(1, Ordering::Relaxed);
    assert_eq!(refusal(ids.next()), IdsRefused::AboveCeiling);
    assert_eq!(ids.last(), ceiling);
    lease.renew(id_at(NOON_MS + 60_000), Instant::now() + SECOND);
    assert!(ids.next().unwrap() > ceiling);
}

#[tokio::test(start_paused = true)]
async fn an_id_after_one_that_is_far_ahead_waits_for_a_higher_ceiling() {
    let (_, lease, ids) = leased(grant());
    let near = id_at(NOON_MS + 30_000);
    assert!(ids.next_after(near).unwrap() > near);
    let far = id_at(NOON_MS + 3_600_000);
    assert_eq!(refusal(ids.next_after(far)), IdsRefused::AboveCeiling);
    // Other ids are not delayed, and the renewing task learns which ceiling is needed.
    assert!(ids.next().unwrap() > near);
    lease.too_low().await;
    assert!(lease.wanted() > far && lease.last() < far);
    lease.renew(lease.wanted(), Instant::now() + SECOND);
    assert!(ids.next_after(far).unwrap() > far);
}

#[tokio::test(start_paused = true)]
async fn a_lease_continues_with_another_number_above_all_earlier_ids() {
    let (_, lease, ids) = leased(grant());
    let last = ids.next_after(id_at(NOON_MS + 10_000)).unwrap();
    assert_eq!((lease.end(), lease.end(), ids.last()), (last, last, last));
    assert_eq!(refusal(ids.next()), IdsRefused::Ended);
    // A renewal that arrives after the end does not revive the lease.
    lease.renew(id_at(NOON_MS + 60_000), Instant::now() + SECOND);
    assert_eq!(refusal(ids.next()), IdsRefused::Ended);

    lease.begin(Grant { node: 9, ..grant() });
    let next = ids.next().unwrap();
    assert!(next > last);
    assert_eq!((next >> SEQUENCE_BITS) & 1023, 9);
    lease.begin(Grant { node: 10, floor: id_at(NOON_MS + 20_000), ..grant() });
    assert!(ids.next().unwrap() > id_at(NOON_MS + 20_000));
}

#[test]
fn ending_a_lease_counts_every_id_that_was_given_out() {
    let (_, lease, ids) = leased(Grant { until: Instant::now() + 3_600 * SECOND, ..grant() });
    let stop = AtomicBool::new(false);
    let (given, ends) = std::thread::scope(|scope| {
        let give_out = || {
            let mut given = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                given.extend(ids.next().ok());
            }
            given
        };
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(give_out)).collect();
        let ends: Vec<_> = (0..1_000u16)
            .map(|node| {
                let last = lease.end();
                lease.begin(Grant { node, until: Instant::now() + 3_600 * SECOND, ..grant() });
                (node, last)
            })
            .collect();
        stop.store(true, Ordering::Relaxed);
        (threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>(), ends)
    });
    assert_eq!(given.iter().collect::<HashSet<_>>().len(), given.len());
    // An id with the bits of a number was given out between the begin and the end of its lease.
    let bounds = |node: u64| {
        let node = node as usize;
        (ends[node].1, ends.get(node + 1).map_or(u64::MAX, |end| end.1))
    };
    for id in given.into_iter().filter(|id| *id > ends[0].1) {
        let (above, up_to) = bounds((id >> SEQUENCE_BITS) & 1023);
        assert!(above < id && id <= up_to, "{id} is not between {above} and {up_to}");
    }
}
