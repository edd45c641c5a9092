//! Connections that have not yet shown that they are worth their memory.
//!
//! That is: those whose first request is not complete, and sockets that are not signed in. They are few at any moment,
//! because honest clients need milliseconds for it; whoever opens thousands and says nothing only pushes their own
//! oldest ones out. The newcomer is always let in, so that a flood from one address does not keep others out, not even
//! others at the same address.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Context;
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use metrics::{counter, gauge};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HandshakeLimits {
    /// All at once.
    pub(crate) total_max: usize,
    /// Of one address (of one /64 network for IPv6). `None` behind a proxy, where all have the same.
    pub(crate) per_address_max: Option<usize>,
    /// From the connection to the end of the first request's head.
    pub(crate) head_within: Duration,
}

/// All handshakes of the server.
#[derive(Debug)]
pub(crate) struct Handshakes {
    limits: HandshakeLimits,
    table: Mutex<Table>,
}

/// A place among the handshakes. It ends when the last clone is dropped: a handler of sockets takes it from the
/// extensions of the request and drops it when the socket is signed in.
#[derive(Debug, Clone)]
pub struct Newcomer(Arc<Place>);

/// Through which a connection learns that it has lost its place.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    is_closed: AtomicBool,
    reader: AtomicWaker,
}

impl Handshakes {
    pub(crate) fn new(limits: HandshakeLimits) -> Arc<Self> {
        Arc::new(Self { limits, table: Mutex::default() })
    }

    /// Takes a place. If there is none the oldest handshake of the address, or of all, loses its own.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr, gate: &Arc<Gate>) -> Newcomer {
        let address = network(address);
        let mut table = self.table();
        let id = table.add(address, gate.clone(), Instant::now() + self.limits.head_within);
        let of_address = table.by_address.get(&address);
        let crowded = |max| of_address.filter(|ids| ids.len() > max).and_then(BTreeSet::first);
        if let Some(oldest) = self.limits.per_address_max.and_then(crowded).copied() {
            table.evict(oldest, "address");
        } else if table.waiting.len() > self.limits.total_max
            && let Some(oldest) = table.waiting.first_key_value().map(|(id, _)| *id)
        {
            table.evict(oldest, "total");
        }
        Newcomer(Arc::new(Place { id, handshakes: self.clone() }))
    }

    /// Ends those that take too long. For one timer of the whole server.
    pub(crate) fn expire(&self, now: Instant) {
        let mut table = self.table();
        let late =
            |(id, waiting): (&u64, &Waiting)| waiting.head_by.is_some_and(|by| by <= now).then_some(*id);
        let late: Vec<u64> = table.waiting.iter().filter_map(late).collect();
        for id in late {
            table.evict(id, "time");
        }
        gauge!("godwit_handshakes").set(table.waiting.len() as f64);
    }

    /// Ends all. For a stop.
    pub(crate) fn end_all(&self) {
        let mut table = self.table();
        while let Some(id) = table.waiting.first_key_value().map(|(id, _)| *id) {
            table.evict(id, "stop");
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Newcomer {
    /// The request is complete and asks for a socket: how long it may stay anonymous is for the socket's handler to say.
    pub(crate) fn asks_for_socket(&self) {
        if let Some(waiting) = self.0.handshakes.table().waiting.get_mut(&self.0.id) {
            waiting.head_by = None;
        }
    }
}

impl Gate {
    /// Whether the connection may go on. If not now, the task is woken when it may not.
    pub(crate) fn is_open(&self, context: &Context<'_>) -> bool {
        self.reader.register(context.waker());
        !self.is_closed.load(Ordering::Acquire)
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.reader.wake();
    }
}

#[derive(Debug)]
struct Place {
    id: u64,
    handshakes: Arc<Handshakes>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.handshakes.table().remove(self.id);
    }
}

#[derive(Debug, Default)]
struct Table {
    next_id: u64,
    /// The oldest first.
    waiting: BTreeMap<u64, Waiting>,
    by_address: HashMap<IpAddr, BTreeSet<u64>>,
}

#[derive(Debug)]
struct Waiting {
    address: IpAddr,
    gate: Arc<Gate>,
    head_by: Option<Instant>,
}

impl Table {
    fn add(&mut self, address: IpAddr, gate: Arc<Gate>, head_by: Instant) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.waiting.insert(id, Waiting { address, gate, head_by: Some(head_by) });
        self.by_address.entry(address).or_default().insert(id);
        id
    }

    fn remove(&mut self, id: u64) -> Option<Arc<Gate>> {
        let Waiting { address, gate, .. } = self.waiting.remove(&id)?;
        if let Some(ids) = self.by_address.get_mut(&address) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_address.remove(&address);
            }
        }
        Some(gate)
    }

    fn evict(&mut self, id: u64, reason: &'static str) {
        if let Some(gate) = self.remove(id) {
            counter!("godwit_handshakes_ended_total", "reason" => reason).increment(1);
            gate.close();
        }
    }
}

/// Whoever has an IPv6 address usually has all of its /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    const LIMITS: HandshakeLimits =
        HandshakeLimits { total_max: 4, per_address_max: Some(2), head_within: Duration::from_secs(10) };

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn enter(handshakes: &Arc<Handshakes>, from: &str) -> (Arc<Gate>, Newcomer) {
        let gate = Arc::new(Gate::default());
        let newcomer = handshakes.enter(address(from), &gate);
        (gate, newcomer)
    }

    fn is_open(gate: &Gate) -> bool {
        gate.is_open(&Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_flood_pushes_out_its_own_oldest_and_nobody_else() {
        let handshakes = Handshakes::new(LIMITS);
        let (other, _other) = enter(&handshakes, "192.0.2.1");
        let flood: Vec<_> = (0..100).map(|_| enter(&handshakes, "192.0.2.2")).collect();
        assert!(is_open(&other));
        let open: Vec<bool> = flood.iter().map(|(gate, _)| is_open(gate)).collect();
        assert_eq!(open.iter().filter(|open| **open).count(), 2);
        assert!(open[98] && open[99], "the newest must be let in");
    }

    #[test]
    fn the_total_is_bounded_also_when_every_address_is_different() {
        let handshakes = Handshakes::new(LIMITS);
        let flood: Vec<_> = (0..100).map(|n| enter(&handshakes, &format!("192.0.2.{n}"))).collect();
        assert_eq!(flood.iter().filter(|(gate, _)| is_open(gate)).count(), LIMITS.total_max);
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_as_one() {
        let handshakes = Handshakes::new(LIMITS);
        let flood: Vec<_> = (0..100).map(|n| enter(&handshakes, &format!("2001:db8::{n:x}"))).collect();
        assert_eq!(flood.iter().filter(|(gate, _)| is_open(gate)).count(), 2);
        assert_eq!(network(address("::ffff:192.0.2.1")), address("192.0.2.1"));
    }

    #[test]
    fn a_place_is_free_when_its_last_clone_is_dropped() {
        let handshakes = Handshakes::new(LIMITS);
        let (gate, newcomer) = enter(&handshakes, "192.0.2.1");
        let clone = newcomer.clone();
        drop(newcomer);
        assert_eq!(handshakes.table().waiting.len(), 1);
        drop(clone);
        assert!(handshakes.table().waiting.is_empty() && handshakes.table().by_address.is_empty());
        assert!(is_open(&gate));
    }

    #[test]
    fn who_is_late_is_ended_but_sockets_have_their_own_time() {
        let handshakes = Handshakes::new(LIMITS);
        let (slow, _slow) = enter(&handshakes, "192.0.2.1");
        let (socket, newcomer) = enter(&handshakes, "192.0.2.2");
        newcomer.asks_for_socket();
        handshakes.expire(Instant::now());
        assert!(is_open(&slow));
        handshakes.expire(Instant::now() + LIMITS.head_within * 2);
        assert!(!is_open(&slow) && is_open(&socket));
        handshakes.end_all();
        assert!(!is_open(&socket));
    }
}
