//! Who has a connection, and who must give theirs up.
//!
//! A connection is anonymous until a valid token has been seen on it. Anonymous connections have limits of their own, per
//! address, per network and in total. A newcomer is always let in where that is possible: the anonymous connection that has
//! been idle longest makes room, first of the same address, then of the same network, then of all. So a flood without an
//! account pushes out its own connections, and people with accounts get in and stay.
//!
//! A connection with authenticated requests is evicted after all anonymous ones, and only so many of one user are ranked like
//! that: a token must not serve to hold places. Only a signed-in socket is never evicted; its number per user has a limit
//! elsewhere. Where only sockets are left, a newcomer is refused.
//!
//! Behind a proxy (`trust_forwarded_for`) a connection carries requests of many clients, so it has no address of its own and
//! counts towards the totals only, until it becomes a socket: then it is one client's.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Context;
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use godwit_protocol::UserId;
use metrics::{counter, gauge};

use crate::network::ClientAddress;

/// Connections that are left to newcomers when all others are authenticated, so that a health check is still answered; and
/// the part of all connections that they are at most.
const SPARE_MAX: usize = 16;
const SPARE_PART: usize = 8;
/// Connections of one user that are authenticated by their requests. Further ones stay anonymous.
const AUTHENTICATED_PER_USER_MAX: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlaceLimits {
    pub(crate) all: CrowdLimits,
    pub(crate) anonymous: CrowdLimits,
    /// From the connection to the end of the first request's head.
    pub(crate) head_within: Duration,
    /// From an answer on an anonymous connection to the end of the next request's head.
    pub(crate) anonymous_idle_max: Duration,
}

/// How many connections there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CrowdLimits {
    pub(crate) total_max: usize,
    pub(crate) per_address_max: usize,
    pub(crate) per_network_max: usize,
}

/// The places of all connections of the server.
#[derive(Debug)]
pub(crate) struct Places {
    limits: PlaceLimits,
    next: AtomicU64,
    table: Mutex<Table>,
}

/// Orders what happens to connections. That of an answer is from before its first byte is written: its client may have read it,
/// and used another connection, before it is known to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

/// The place of a connection. Given back when it is dropped, with the connection.
#[derive(Debug)]
pub(crate) struct Place {
    id: u64,
    places: Arc<Places>,
}

/// What a connection shares with those who may end it.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    is_closed: AtomicBool,
    /// Spares signed-in sockets the lock of the table.
    is_signed_in: AtomicBool,
    /// The moment of an answer whose body has ended, and of which what is left waits to be written; 0 when there is none.
    answer_ends: AtomicU64,
    task: AtomicWaker,
}

impl Places {
    pub(crate) fn new(limits: PlaceLimits) -> Arc<Self> {
        Arc::new(Self { limits, next: AtomicU64::new(1), table: Mutex::default() })
    }

    /// Takes a place for a connection; one without an address comes from a proxy. `None` when all others are signed-in
    /// sockets, which do not make room.
    pub(crate) fn enter(self: &Arc<Self>, from: Option<IpAddr>, gate: &Arc<Gate>) -> Option<Place> {
        let mut table = self.table();
        let from = from.map(ClientAddress);
        let id = table.add(from, gate.clone(), self.now(), Instant::now() + self.limits.head_within);
        if self.make_room(&mut table, id, from) {
            Some(Place { id, places: self.clone() })
        } else {
            table.remove(id);
            None
        }
    }

    /// Ends anonymous connections whose time is over. For one timer of the whole server.
    pub(crate) fn expire(&self, now: Instant) {
        let mut table = self.table();
        let is_late = |rank: &&Rank| table.open.get(&rank.id).is_some_and(|open| open.is_late(now));
        let late: Vec<u64> = table.everybody.anonymous().filter(is_late).map(|rank| rank.id).collect();
        for id in late {
            table.evict(id, "time");
        }
        gauge!("godwit_anonymous_connections").set(table.everybody.anonymous_count as f64);
    }

    /// Ends the anonymous connections without a request, and sockets. For a stop.
    pub(crate) fn end_idle(&self) {
        let mut table = self.table();
        let is_idle = |rank: &&Rank| {
            !rank.is_busy
                && table.open.get(&rank.id).is_some_and(|open| open.ends_at.is_some() || open.is_socket)
        };
        let idle: Vec<u64> = table.everybody.anonymous().filter(is_idle).map(|rank| rank.id).collect();
        for id in idle {
            table.evict(id, "stop");
        }
    }

    /// A request of this user was accepted on the connection, which is evicted after anonymous ones from now on. It stays
    /// anonymous where the user, or the server, has too many of those.
    pub(crate) fn authenticated(&self, id: u64, user: UserId) {
        let mut table = self.table();
        let Some(open) = table.open.get(&id) else { return };
        let Some(rank) = open.rank.filter(|rank| !rank.is_authenticated && !open.is_proxy) else { return };
        let of_user = table.by_user.get(&user).copied().unwrap_or(0);
        if of_user < AUTHENTICATED_PER_USER_MAX && table.everybody.authenticated() < self.limits.all.total_max
        {
            table.own(id, Some(user));
            table.rank(id, Some(Rank { is_authenticated: true, ..rank }));
        }
    }

    /// The connection is a socket that a user has signed in to: it is not evicted any more. False when there are as many of
    /// those as there can be connections.
    pub(crate) fn signed_in(&self, id: u64) -> bool {
        let mut table = self.table();
        let Some(open) = table.open.get(&id) else { return true };
        let Some(rank) = open.rank else { return true };
        if !rank.is_authenticated && table.everybody.authenticated() >= self.limits.all.total_max {
            let Some(idle) = table.everybody.evictable.iter().find(|rank| rank.is_authenticated) else {
                return false;
            };
            let idle = idle.id;
            table.evict(idle, "total");
        }
        table.own(id, None);
        table.rank(id, None);
        if let Some(open) = table.open.get(&id) {
            open.gate.is_signed_in.store(true, Ordering::Release);
        }
        true
    }

    /// The head of a request is complete. The connection waits for the body, unless there is none.
    pub(crate) fn requested(&self, id: u64, has_body: bool) {
        self.table().used(id, !has_body, self.now());
    }

    /// The connection waits for the server, and no longer for its client.
    pub(crate) fn is_busy(&self, id: u64) {
        self.table().used(id, true, self.now());
    }

    /// It waits for its client again, which has an answer that was there at this moment.
    pub(crate) fn answered(&self, id: u64, at: Moment) {
        self.table().waits(id, at, Instant::now() + self.limits.anonymous_idle_max);
    }

    /// Now, for the order in which connections are evicted.
    pub(crate) fn now(&self) -> Moment {
        Moment(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The connection becomes a socket, of whoever is at this address. It is anonymous until it is signed in. False when there
    /// is no room for it: then it stays what it was.
    pub(crate) fn becomes_socket(&self, id: u64, from: ClientAddress) -> bool {
        let mut table = self.table();
        let Some(open) = table.open.get_mut(&id) else { return true };
        open.is_socket = true;
        let was_proxy = std::mem::take(&mut open.is_proxy);
        if let Some(rank) = open.rank.filter(|rank| rank.is_authenticated) {
            table.own(id, None);
            table.rank(id, Some(Rank { is_authenticated: false, ..rank }));
        }
        if was_proxy {
            table.move_to(id, from);
        }
        let has_room = self.make_room(&mut table, id, Some(from));
        if !has_room {
            table.is_no_socket(id, was_proxy);
        }
        has_room
    }

    /// Evicts others until the connection is within all limits; false when that is not possible.
    fn make_room(&self, table: &mut Table, id: u64, from: Option<ClientAddress>) -> bool {
        let PlaceLimits { all, anonymous, .. } = self.limits;
        if let Some(from) = from {
            let address = table.by_address.get(&from.address());
            let max = (all.per_address_max, anonymous.per_address_max);
            let outcome = address.map_or(Room::Enough, |crowd| crowd.room(id, max, 0));
            if !table.settle(outcome, "address") {
                return false;
            }
            let network = table.by_network.get(&from.network());
            let max = (all.per_network_max, anonymous.per_network_max);
            let outcome = network.map_or(Room::Enough, |crowd| crowd.room(id, max, 0));
            if !table.settle(outcome, "network") {
                return false;
            }
        }
        let spare = SPARE_MAX.min(all.total_max / SPARE_PART);
        let outcome = table.everybody.room(id, (all.total_max, anonymous.total_max), spare);
        table.settle(outcome, "total")
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    /// An answer has been written.
    pub(crate) fn answered(&self, at: Moment) {
        self.places.answered(self.id, at);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.table().remove(self.id);
    }
}

impl Gate {
    /// Whether the connection may go on. If it may now, the task is woken when it may not any more.
    pub(crate) fn is_open(&self, context: &Context<'_>) -> bool {
        self.task.register(context.waker());
        !self.is_closed.load(Ordering::Acquire)
    }

    pub(crate) fn is_signed_in(&self) -> bool {
        self.is_signed_in.load(Ordering::Acquire)
    }

    /// Nothing more of an answer follows.
    pub(crate) fn answer_ends(&self, at: Moment) {
        self.answer_ends.store(at.0, Ordering::Release);
    }

    /// The answer that has ended since the last look. For the connection, when it has nothing left to write.
    pub(crate) fn take_answer_end(&self) -> Option<Moment> {
        let at = self.answer_ends.swap(0, Ordering::AcqRel);
        (at != 0).then_some(Moment(at))
    }

    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.task.wake();
    }
}

#[derive(Debug, Default)]
struct Table {
    open: HashMap<u64, Open>,
    everybody: Crowd,
    by_address: HashMap<IpAddr, Crowd>,
    by_network: HashMap<IpAddr, Crowd>,
    /// How many connections are authenticated by requests of a user.
    by_user: HashMap<UserId, usize>,
}

/// One connection.
#[derive(Debug)]
struct Open {
    from: Option<ClientAddress>,
    gate: Arc<Gate>,
    /// Whose request authenticated it.
    user: Option<UserId>,
    /// `None` for a signed-in socket.
    rank: Option<Rank>,
    is_proxy: bool,
    is_socket: bool,
    ends_at: Option<Instant>,
}

/// In which order connections are evicted: anonymous ones first, of these those that wait for their client before those that
/// wait for the server, and of each the longest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_authenticated: bool,
    is_busy: bool,
    since: Moment,
    id: u64,
}

/// Connections that count together.
#[derive(Debug, Default)]
struct Crowd {
    count: usize,
    anonymous_count: usize,
    evictable: BTreeSet<Rank>,
}

/// What has to happen for a connection to be within a limit.
#[derive(Debug, Clone, Copy)]
enum Room {
    Enough,
    Evict(u64),
    Never,
}

impl Crowd {
    fn authenticated(&self) -> usize {
        self.count - self.anonymous_count
    }

    fn anonymous(&self) -> impl Iterator<Item = &Rank> {
        self.evictable.iter().take_while(|rank| !rank.is_authenticated)
    }

    fn add(&mut self, rank: Rank) {
        self.anonymous_count += usize::from(!rank.is_authenticated);
        self.evictable.insert(rank);
    }

    fn remove(&mut self, rank: &Rank) {
        if self.evictable.remove(rank) {
            self.anonymous_count -= usize::from(!rank.is_authenticated);
        }
    }

    /// `max` of all, and of the anonymous, of which `spare` may be there whoever else is.
    fn room(&self, id: u64, max: (usize, usize), spare: usize) -> Room {
        let too_many = self.count > max.0 && self.anonymous_count > spare;
        if !too_many && self.anonymous_count <= max.1 {
            return Room::Enough;
        }
        match self.evictable.iter().find(|rank| rank.id != id) {
            Some(rank) => Room::Evict(rank.id),
            None => Room::Never,
        }
    }
}

impl Open {
    fn is_late(&self, now: Instant) -> bool {
        self.ends_at.is_some_and(|by| by <= now)
    }
}

impl Table {
    fn add(&mut self, from: Option<ClientAddress>, gate: Arc<Gate>, since: Moment, head_by: Instant) -> u64 {
        let id = since.0;
        let rank = Some(Rank { is_authenticated: false, is_busy: false, since, id });
        let (is_proxy, ends_at) = (from.is_none(), Some(head_by));
        let open = Open { from: None, gate, user: None, rank: None, is_proxy, is_socket: false, ends_at };
        self.open.insert(id, open);
        self.everybody.count += 1;
        if let Some(from) = from {
            self.move_to(id, from);
        }
        self.rank(id, rank);
        id
    }

    /// Counts a connection towards an address that had none.
    fn move_to(&mut self, id: u64, from: ClientAddress) {
        let Some(open) = self.open.get_mut(&id) else { return };
        open.from = Some(from);
        let rank = open.rank;
        for crowd in [
            self.by_address.entry(from.address()).or_default(),
            self.by_network.entry(from.network()).or_default(),
        ] {
            crowd.count += 1;
            if let Some(rank) = rank {
                crowd.add(rank);
            }
        }
    }

    /// The connection stays one for requests. That of a proxy counts towards no address again, because the next request on it
    /// may be another client's.
    fn is_no_socket(&mut self, id: u64, is_proxy: bool) {
        let Some(open) = self.open.get_mut(&id) else { return };
        (open.is_proxy, open.is_socket) = (is_proxy, false);
        if !is_proxy {
            return;
        }
        let (rank, Some(from)) = (open.rank, open.from.take()) else { return };
        for (crowds, key) in [(&mut self.by_address, from.address()), (&mut self.by_network, from.network())]
        {
            if let Some(crowd) = crowds.get_mut(&key) {
                crowd.count -= 1;
                if let Some(rank) = rank {
                    crowd.remove(&rank);
                }
            }
            remove_if_empty(crowds, key);
        }
    }

    /// Counts the connection towards a user, and no longer towards the one before.
    fn own(&mut self, id: u64, user: Option<UserId>) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let before = std::mem::replace(&mut open.user, user);
        if let Some(user) = user {
            *self.by_user.entry(user).or_default() += 1;
        }
        if let Some(before) = before {
            self.disown(before);
        }
    }

    fn disown(&mut self, user: UserId) {
        if let Entry::Occupied(mut count) = self.by_user.entry(user) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// The client has asked for something.
    fn used(&mut self, id: u64, is_busy: bool, since: Moment) {
        let Some(open) = self.open.get_mut(&id) else { return };
        open.ends_at = None;
        if let Some(rank) = open.rank {
            self.rank(id, Some(Rank { is_busy, since, ..rank }));
        }
    }

    /// The client has its answer.
    fn waits(&mut self, id: u64, since: Moment, until: Instant) {
        let Some(open) = self.open.get_mut(&id) else { return };
        // Proxies keep connections open for whoever comes next; sockets are looked after by the hub.
        open.ends_at = (!open.is_proxy && !open.is_socket).then_some(until);
        if let Some(rank) = open.rank {
            self.rank(id, Some(Rank { is_busy: false, since, ..rank }));
        }
    }

    fn rank(&mut self, id: u64, rank: Option<Rank>) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let before = std::mem::replace(&mut open.rank, rank);
        let from = open.from;
        self.each_crowd(from, |crowd| {
            if let Some(before) = before {
                crowd.remove(&before);
            }
            if let Some(rank) = rank {
                crowd.add(rank);
            }
        });
    }

    fn remove(&mut self, id: u64) -> Option<Arc<Gate>> {
        let Open { from, gate, user, rank, .. } = self.open.remove(&id)?;
        self.each_crowd(from, |crowd| {
            crowd.count -= 1;
            if let Some(rank) = rank {
                crowd.remove(&rank);
            }
        });
        if let Some(user) = user {
            self.disown(user);
        }
        if let Some(from) = from {
            remove_if_empty(&mut self.by_address, from.address());
            remove_if_empty(&mut self.by_network, from.network());
        }
        Some(gate)
    }

    /// What the connection counts towards.
    fn each_crowd(&mut self, from: Option<ClientAddress>, mut act: impl FnMut(&mut Crowd)) {
        act(&mut self.everybody);
        if let Some(from) = from {
            self.by_address.get_mut(&from.address()).map(&mut act);
            self.by_network.get_mut(&from.network()).map(&mut act);
        }
    }

    fn settle(&mut self, room: Room, reason: &'static str) -> bool {
        match room {
            Room::Enough => true,
            Room::Evict(id) => {
                self.evict(id, reason);
                true
            }
            Room::Never => false,
        }
    }

    fn evict(&mut self, id: u64, reason: &'static str) {
        if let Some(gate) = self.remove(id) {
            counter!("godwit_connections_evicted_total", "reason" => reason).increment(1);
            gate.close();
        }
    }
}

fn remove_if_empty(crowds: &mut HashMap<IpAddr, Crowd>, key: IpAddr) {
    if crowds.get(&key).is_some_and(|crowd| crowd.count == 0) {
        crowds.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    const LIMITS: PlaceLimits = PlaceLimits {
        all: CrowdLimits { total_max: 6, per_address_max: 3, per_network_max: 5 },
        anonymous: CrowdLimits { total_max: 4, per_address_max: 2, per_network_max: 3 },
        head_within: Duration::from_secs(10),
        anonymous_idle_max: Duration::from_secs(5),
    };

    struct Visitor {
        gate: Arc<Gate>,
        place: Option<Place>,
    }

    impl Visitor {
        fn id(&self) -> u64 {
            self.place.as_ref().unwrap().id()
        }

        fn is_in(&self) -> bool {
            self.place.is_some() && self.gate.is_open(&Context::from_waker(Waker::noop()))
        }
    }

    fn enter(places: &Arc<Places>, from: &str) -> Visitor {
        let gate = Arc::new(Gate::default());
        let place = places.enter(from.parse().ok(), &gate);
        Visitor { gate, place }
    }

    /// With a signed-in socket.
    fn known(places: &Arc<Places>, from: &str) -> Visitor {
        let visitor = enter(places, from);
        assert!(places.signed_in(visitor.id()));
        visitor
    }

    /// With an authenticated request.
    fn asked_as(places: &Arc<Places>, user: u64, from: &str) -> Visitor {
        let visitor = enter(places, from);
        places.authenticated(visitor.id(), UserId::new(user));
        visitor
    }

    fn count(visitors: &[Visitor]) -> usize {
        visitors.iter().filter(|visitor| visitor.is_in()).count()
    }

    #[test]
    fn a_flood_pushes_out_its_own_oldest_and_nobody_else() {
        let places = Places::new(LIMITS);
        let other = enter(&places, "198.51.100.1");
        let flood: Vec<_> = (0..100).map(|_| enter(&places, "192.0.2.2")).collect();
        assert!(other.is_in());
        assert_eq!(count(&flood), 2);
        assert!(flood[98].is_in() && flood[99].is_in(), "the newest must be let in");
    }

    #[test]
    fn addresses_of_one_network_have_a_limit_together() {
        for network in ["192.0.2.", "2001:db8:7:1", "2001:db8:7::"] {
            let places = Places::new(LIMITS);
            let from = |n: usize| match network {
                "2001:db8:7:1" => format!("{network}{n:02}::1"),
                _ => format!("{network}{n}"),
            };
            let flood: Vec<_> = (1..100).map(|n| enter(&places, &from(n))).collect();
            // Those of one /64 are one address.
            let expected = if network == "2001:db8:7::" { 2 } else { 3 };
            assert_eq!(count(&flood), expected, "{network}");
        }
    }

    #[test]
    fn the_total_is_bounded_also_when_every_network_is_different() {
        let places = Places::new(LIMITS);
        let flood: Vec<_> = (0..100).map(|n| enter(&places, &format!("192.0.{n}.1"))).collect();
        assert_eq!(count(&flood), LIMITS.anonymous.total_max);
    }

    #[test]
    fn who_is_authenticated_stays_and_those_who_are_not_make_room() {
        let places = Places::new(LIMITS);
        let known: Vec<_> = (0..4).map(|n| known(&places, &format!("192.0.{n}.1"))).collect();
        let strangers: Vec<_> = (0..10).map(|n| enter(&places, &format!("198.51.{n}.1"))).collect();
        assert_eq!((count(&known), count(&strangers)), (4, 2));
        let more: Vec<_> = (0..2).map(|n| self::known(&places, &format!("203.0.{n}.1"))).collect();
        assert_eq!((count(&known), count(&strangers), count(&more)), (4, 0, 2));
        assert!(!enter(&places, "198.51.100.1").is_in(), "nobody could make room");
        drop(more);
        assert!(enter(&places, "198.51.100.1").is_in());
    }

    #[test]
    fn an_address_has_a_limit_for_those_who_are_authenticated_too() {
        let places = Places::new(LIMITS);
        let known: Vec<_> = (0..3).map(|_| known(&places, "192.0.2.1")).collect();
        assert!(!enter(&places, "192.0.2.1").is_in());
        assert!(enter(&places, "192.0.2.2").is_in());
        assert_eq!(count(&known), 3);
    }

    #[test]
    fn some_places_are_left_for_newcomers_when_all_others_are_authenticated() {
        let many = CrowdLimits { total_max: 80, per_address_max: 1_000, per_network_max: 1_000 };
        let places = Places::new(PlaceLimits { all: many, anonymous: many, ..LIMITS });
        let known: Vec<_> = (0..80).map(|_| known(&places, "192.0.2.1")).collect();
        let strangers: Vec<_> = (0..100).map(|_| enter(&places, "192.0.2.1")).collect();
        assert_eq!((count(&known), count(&strangers)), (80, 10));
        assert!(!places.signed_in(strangers[99].id()), "there is no room for another one that stays");
    }

    #[test]
    fn authenticated_connections_go_after_anonymous_ones_and_before_signed_in_sockets() {
        let places = Places::new(LIMITS);
        let (mine, other) = (asked_as(&places, 1, "192.0.2.1"), asked_as(&places, 1, "192.0.2.1"));
        let (stranger, next) = (enter(&places, "192.0.2.1"), enter(&places, "192.0.2.1"));
        assert!(mine.is_in() && other.is_in() && !stranger.is_in() && next.is_in());
        assert!(places.signed_in(next.id()));
        // The first is used again, so the other has been idle longer.
        places.requested(mine.id(), false);
        places.answered(mine.id(), places.now());
        let newest = enter(&places, "192.0.2.1");
        assert!(mine.is_in() && !other.is_in() && next.is_in() && newest.is_in());
    }

    #[test]
    fn a_socket_takes_the_place_of_an_authenticated_connection_when_there_is_no_other() {
        let many = CrowdLimits { total_max: 80, per_address_max: 1_000, per_network_max: 1_000 };
        let places = Places::new(PlaceLimits { all: many, anonymous: many, ..LIMITS });
        let asked: Vec<_> = (0..80).map(|user| asked_as(&places, user, "192.0.2.1")).collect();
        let sockets: Vec<_> = (0..80).map(|_| known(&places, "192.0.2.1")).collect();
        assert_eq!((count(&asked), count(&sockets)), (0, 80));
        assert!(places.table().by_user.is_empty());
    }

    #[test]
    fn a_user_has_so_many_authenticated_connections_and_further_ones_stay_anonymous() {
        let many = CrowdLimits { total_max: 1_000, per_address_max: 1_000, per_network_max: 1_000 };
        let few = CrowdLimits { per_address_max: 2, ..many };
        let places = Places::new(PlaceLimits { all: many, anonymous: few, ..LIMITS });
        let mine: Vec<_> = (0..200).map(|_| asked_as(&places, 1, "192.0.2.1")).collect();
        assert_eq!(count(&mine), AUTHENTICATED_PER_USER_MAX + 2);
        assert!(asked_as(&places, 2, "192.0.2.1").is_in());
        // One that becomes a socket is anonymous until it is signed in, and makes room for another.
        assert!(places.becomes_socket(mine[0].id(), ClientAddress("192.0.2.1".parse().unwrap())));
        assert_eq!(places.table().by_user[&UserId::new(1)], AUTHENTICATED_PER_USER_MAX - 1);
        drop(mine);
        assert!(!places.table().by_user.contains_key(&UserId::new(1)));
    }

    #[test]
    fn the_longest_idle_goes_first_and_who_waits_for_the_server_last() {
        let places = Places::new(LIMITS);
        let (asks, idle) = (enter(&places, "192.0.2.1"), enter(&places, "192.0.2.1"));
        places.requested(asks.id(), false);
        let third = enter(&places, "192.0.2.1");
        assert!(asks.is_in() && !idle.is_in() && third.is_in());
        // Answered, it has been idle for a shorter time than the third.
        places.answered(asks.id(), places.now());
        let fourth = enter(&places, "192.0.2.1");
        assert!(asks.is_in() && !third.is_in() && fourth.is_in());
    }

    #[test]
    fn connections_are_idle_in_the_order_of_their_answers_whichever_is_noticed_first() {
        let places = Places::new(LIMITS);
        let (first, second) = (enter(&places, "192.0.2.1"), enter(&places, "192.0.2.1"));
        let answers = [&first, &second].map(|connection| {
            places.requested(connection.id(), false);
            places.now()
        });
        places.answered(second.id(), answers[1]);
        places.answered(first.id(), answers[0]);
        let third = enter(&places, "192.0.2.1");
        assert!(!first.is_in() && second.is_in() && third.is_in());
    }

    #[test]
    fn a_place_is_free_when_it_is_dropped() {
        let places = Places::new(LIMITS);
        drop((known(&places, "192.0.2.1"), enter(&places, "192.0.2.1"), asked_as(&places, 1, "192.0.2.1")));
        let table = places.table();
        assert!(table.open.is_empty() && table.by_address.is_empty() && table.by_network.is_empty());
        assert!(table.by_user.is_empty() && table.everybody.evictable.is_empty());
        assert_eq!((table.everybody.count, table.everybody.anonymous_count), (0, 0));
    }

    #[test]
    fn a_proxy_has_no_address_and_its_sockets_have_those_of_their_clients() {
        let places = Places::new(LIMITS);
        let proxied: Vec<_> = (0..4).map(|_| enter(&places, "proxy")).collect();
        assert_eq!(count(&proxied), 4);
        places.authenticated(proxied[0].id(), UserId::new(1));
        places.answered(proxied[3].id(), places.now());
        places.expire(Instant::now() + Duration::from_secs(7));
        assert!(proxied[3].is_in(), "the next request on it is somebody else's");
        let client = ClientAddress("192.0.2.1".parse().unwrap());
        for socket in &proxied[..3] {
            assert!(places.becomes_socket(socket.id(), client));
        }
        assert_eq!(count(&proxied[..3]), LIMITS.anonymous.per_address_max);
    }

    #[test]
    fn a_socket_of_a_proxy_for_which_there_is_no_room_stays_a_connection_of_the_proxy() {
        let places = Places::new(LIMITS);
        let client = ClientAddress("192.0.2.1".parse().unwrap());
        let sockets: Vec<_> = (0..3).map(|_| enter(&places, "proxy")).collect();
        for socket in &sockets {
            assert!(places.becomes_socket(socket.id(), client) && places.signed_in(socket.id()));
        }
        let further = enter(&places, "proxy");
        assert!(!places.becomes_socket(further.id(), client), "the address has as many as it may have");
        assert_eq!(count(&sockets), 3);
        assert_eq!(places.table().by_address[&client.address()].count, 3);
        // The next request on it may be of another client.
        assert!(further.is_in());
        assert!(places.becomes_socket(further.id(), ClientAddress("198.51.100.1".parse().unwrap())));
        drop((sockets, further));
        assert!(places.table().by_address.is_empty() && places.table().by_network.is_empty());
    }

    #[test]
    fn who_is_late_or_idle_is_ended_but_sockets_have_their_own_time() {
        let places = Places::new(LIMITS);
        let now = Instant::now();
        let (slow, socket) = (enter(&places, "192.0.2.1"), enter(&places, "192.0.3.1"));
        let (idle, known) = (enter(&places, "192.0.4.1"), known(&places, "192.0.5.1"));
        places.requested(socket.id(), false);
        assert!(places.becomes_socket(socket.id(), ClientAddress("192.0.3.1".parse().unwrap())));
        for id in [socket.id(), idle.id(), known.id()] {
            places.answered(id, places.now());
        }
        places.expire(now);
        assert!(slow.is_in() && idle.is_in());
        places.expire(now + Duration::from_secs(7));
        assert!(slow.is_in() && !idle.is_in());
        places.expire(now + Duration::from_secs(20));
        assert!(!slow.is_in() && socket.is_in() && known.is_in());
        places.end_idle();
        assert!(!socket.is_in() && known.is_in());
    }
}
