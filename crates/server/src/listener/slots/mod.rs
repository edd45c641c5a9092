//! Connection slots: which clients have a connection, and which connections are evicted.
//!
//! - [`ConnectionSlots`]: the rules; one slot per connection
//! - [`table`]: all connections, with the counts that they belong to
//! - [`crowd`]: connections that are counted together, and the order of eviction
//! - [`answers`]: the limit on the answers that wait on all connections
//! - [`control`]: the state that a connection shares with the code that may end it
//!
//! A connection is anonymous until a valid token has been seen on it. Anonymous connections have their own limits per
//! address, per network and in total. To accept a new connection, the server evicts the anonymous connection that has been
//! idle longest: first of the same address, then of the same network, then of all. A flood without an account therefore
//! evicts its own connections, and people with accounts get in and stay.
//!
//! A connection with authenticated requests is evicted after all anonymous ones, and only a limited number of connections
//! per user has this rank, so that a token does not serve to hold slots. A signed-in socket is never evicted; the number of
//! sockets per user has a limit elsewhere. If only sockets are left, a new connection is refused.
//!
//! Behind a proxy (`trust_forwarded_for`), a connection carries requests of many clients. It has no address of its own and
//! counts only towards the totals, until it becomes the socket of one client.

mod answers;
mod control;
mod crowd;
mod table;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use godwit_protocol::UserId;
use metrics::gauge;

use self::answers::Answers;
pub(super) use self::control::{Control, Moment};
use self::crowd::{Rank, Room};
use self::table::Table;
use crate::network::ClientAddress;

/// Connections reserved for new clients when all others are authenticated, so that a health check still works; and the
/// largest share of all connections that they may be.
const SPARE_MAX: usize = 16;
const SPARE_PART: usize = 8;
/// Connections of one user that count as authenticated by their requests. Further ones stay anonymous.
const AUTHENTICATED_PER_USER_MAX: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::listener) struct SlotLimits {
    pub(in crate::listener) all: CrowdLimits,
    pub(in crate::listener) anonymous: CrowdLimits,
    /// From the connection to the end of the first request's head.
    pub(in crate::listener) head_within: Duration,
    /// From an answer on an anonymous connection to the end of the next request's head.
    pub(in crate::listener) anonymous_idle_max: Duration,
    /// Bytes of answers on all connections.
    pub(in crate::listener) answers_bytes_max: usize,
}

/// Limits on the number of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::listener) struct CrowdLimits {
    pub(in crate::listener) total_max: usize,
    pub(in crate::listener) per_address_max: usize,
    pub(in crate::listener) per_network_max: usize,
}

/// The slots of all connections of the server.
#[derive(Debug)]
pub(in crate::listener) struct ConnectionSlots {
    limits: SlotLimits,
    next: AtomicU64,
    answers: Answers,
    table: Mutex<Table>,
}

/// The slot of one connection. Dropping it frees the slot.
#[derive(Debug)]
pub(in crate::listener) struct ConnectionSlot {
    id: u64,
    control: Arc<Control>,
    slots: Arc<ConnectionSlots>,
}

impl ConnectionSlots {
    pub(in crate::listener) fn new(limits: SlotLimits) -> Arc<Self> {
        let answers = Answers::new(limits.answers_bytes_max);
        Arc::new(Self { limits, next: AtomicU64::new(1), answers, table: Mutex::default() })
    }

    /// Takes a slot for a connection; one without an address comes from a proxy. `None` if all others are signed-in sockets,
    /// which are not evicted.
    pub(in crate::listener) fn enter(
        self: &Arc<Self>,
        from: Option<IpAddr>,
        control: &Arc<Control>,
    ) -> Option<ConnectionSlot> {
        let mut table = self.table();
        let from = from.map(ClientAddress);
        let id = table.add(from, control.clone(), self.now(), Instant::now() + self.limits.head_within);
        if self.make_room(&mut table, id, from) {
            Some(ConnectionSlot { id, control: control.clone(), slots: self.clone() })
        } else {
            table.remove(id);
            None
        }
    }

    /// Ends anonymous connections whose time is over. One timer calls this for the whole server.
    pub(in crate::listener) fn expire(&self, now: Instant) {
        let mut table = self.table();
        let is_late = |rank: &&Rank| table.open.get(&rank.id).is_some_and(|open| open.is_late(now));
        let late: Vec<u64> = table.everybody.anonymous().filter(is_late).map(|rank| rank.id).collect();
        for id in late {
            table.evict(id, "time");
        }
        gauge!("godwit_anonymous_connections").set(table.everybody.anonymous_count as f64);
        gauge!("godwit_http_answer_bytes").set(self.answers.bytes() as f64);
    }

    /// Ends anonymous connections that wait for their client, when the server stops.
    pub(in crate::listener) fn end_idle(&self) {
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

    /// A request of this user was accepted, so the connection is evicted after anonymous ones from now on. It stays
    /// anonymous if the user, or the server, has too many authenticated ones.
    pub(in crate::listener) fn authenticated(&self, id: u64, user: UserId) {
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

    /// A user has signed in to this socket, so it is not evicted any more. False if signed-in sockets would take all
    /// connections.
    pub(in crate::listener) fn signed_in(&self, id: u64) -> bool {
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
            open.control.is_signed_in.store(true, Ordering::Release);
        }
        true
    }

    /// The head of a request is complete. The connection waits for the body, if there is one.
    pub(in crate::listener) fn requested(&self, id: u64, has_body: bool) {
        self.table().used(id, !has_body, self.now());
    }

    /// The connection waits for the server, and no longer for its client.
    pub(in crate::listener) fn is_busy(&self, id: u64) {
        self.table().used(id, true, self.now());
    }

    /// The connection waits for its client again. The answer was ready at this moment.
    pub(in crate::listener) fn answered(&self, id: u64, at: Moment) {
        self.table().waits(id, at, Instant::now() + self.limits.anonymous_idle_max);
    }

    /// The current moment in the order of eviction.
    pub(in crate::listener) fn now(&self) -> Moment {
        Moment(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Makes the connection a socket of the client at this address. It is anonymous until it is signed in. False if there is
    /// no room for it: then nothing changes.
    pub(in crate::listener) fn becomes_socket(&self, id: u64, from: ClientAddress) -> bool {
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

    /// Evicts others until the connection is within all limits. False if that is impossible.
    fn make_room(&self, table: &mut Table, id: u64, from: Option<ClientAddress>) -> bool {
        let SlotLimits { all, anonymous, .. } = self.limits;
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

impl ConnectionSlot {
    pub(in crate::listener) const fn id(&self) -> u64 {
        self.id
    }

    /// An answer has been written.
    pub(in crate::listener) fn answered(&self, at: Moment) {
        self.slots.answer_is_gone(&self.control);
        if !self.control.is_signed_in() {
            self.slots.answered(self.id, at);
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.answer_is_gone(&self.control);
        self.slots.table().remove(self.id);
    }
}
