//! Which clients get a slot, and which connections are evicted.

use std::task::{Context, Waker};

use super::*;

const LIMITS: SlotLimits = SlotLimits {
    all: CrowdLimits { total_max: 6, per_address_max: 3, per_network_max: 5 },
    anonymous: CrowdLimits { total_max: 4, per_address_max: 2, per_network_max: 3 },
    head_within: Duration::from_secs(10),
    anonymous_idle_max: Duration::from_secs(5),
    answers_bytes_max: 4_000,
};

struct Visitor {
    control: Arc<Control>,
    slot: Option<ConnectionSlot>,
}

impl Visitor {
    fn id(&self) -> u64 {
        self.slot.as_ref().unwrap().id()
    }

    fn is_in(&self) -> bool {
        self.slot.is_some() && self.control.is_open(&Context::from_waker(Waker::noop()))
    }
}

fn enter(slots: &Arc<ConnectionSlots>, from: &str) -> Visitor {
    let control = Arc::new(Control::default());
    let slot = slots.enter(from.parse().ok(), &control);
    Visitor { control, slot }
}

/// A visitor with a signed-in socket.
fn known(slots: &Arc<ConnectionSlots>, from: &str) -> Visitor {
    let visitor = enter(slots, from);
    assert!(slots.signed_in(visitor.id()));
    visitor
}

/// A visitor with an authenticated request.
fn asked_as(slots: &Arc<ConnectionSlots>, user: u64, from: &str) -> Visitor {
    let visitor = enter(slots, from);
    slots.authenticated(visitor.id(), UserId::new(user));
    visitor
}

fn count(visitors: &[Visitor]) -> usize {
    visitors.iter().filter(|visitor| visitor.is_in()).count()
}

#[test]
fn a_flood_evicts_only_its_own_connections() {
    let slots = ConnectionSlots::new(LIMITS);
    let other = enter(&slots, "198.51.100.1");
    let flood: Vec<_> = (0..100).map(|_| enter(&slots, "192.0.2.2")).collect();
    assert!(other.is_in());
    assert_eq!(count(&flood), 2);
    assert!(flood[98].is_in() && flood[99].is_in(), "the newest must be let in");
}

#[test]
fn addresses_of_one_network_have_a_limit_together() {
    for network in ["192.0.2.", "2001:db8:7:1", "2001:db8:7::"] {
        let slots = ConnectionSlots::new(LIMITS);
        let from = |n: usize| match network {
            "2001:db8:7:1" => format!("{network}{n:02}::1"),
            _ => format!("{network}{n}"),
        };
        let flood: Vec<_> = (1..100).map(|n| enter(&slots, &from(n))).collect();
        // Addresses of one /64 count as one.
        let expected = if network == "2001:db8:7::" { 2 } else { 3 };
        assert_eq!(count(&flood), expected, "{network}");
    }
}

#[test]
fn the_total_is_bounded_across_networks() {
    let slots = ConnectionSlots::new(LIMITS);
    let flood: Vec<_> = (0..100).map(|n| enter(&slots, &format!("192.0.{n}.1"))).collect();
    assert_eq!(count(&flood), LIMITS.anonymous.total_max);
}

#[test]
fn authenticated_connections_stay_and_anonymous_ones_are_evicted() {
    let slots = ConnectionSlots::new(LIMITS);
    let known: Vec<_> = (0..4).map(|n| known(&slots, &format!("192.0.{n}.1"))).collect();
    let strangers: Vec<_> = (0..10).map(|n| enter(&slots, &format!("198.51.{n}.1"))).collect();
    assert_eq!((count(&known), count(&strangers)), (4, 2));
    let more: Vec<_> = (0..2).map(|n| self::known(&slots, &format!("203.0.{n}.1"))).collect();
    assert_eq!((count(&known), count(&strangers), count(&more)), (4, 0, 2));
    assert!(!enter(&slots, "198.51.100.1").is_in(), "nobody could make room");
    drop(more);
    assert!(enter(&slots, "198.51.100.1").is_in());
}

#[test]
fn authenticated_connections_have_a_limit_per_address_too() {
    let slots = ConnectionSlots::new(LIMITS);
    let known: Vec<_> = (0..3).map(|_| known(&slots, "192.0.2.1")).collect();
    assert!(!enter(&slots, "192.0.2.1").is_in());
    assert!(enter(&slots, "192.0.2.2").is_in());
    assert_eq!(count(&known), 3);
}

#[test]
fn slots_are_reserved_for_new_clients_when_all_others_are_authenticated() {
    let many = CrowdLimits { total_max: 80, per_address_max: 1_000, per_network_max: 1_000 };
    let slots = ConnectionSlots::new(SlotLimits { all: many, anonymous: many, ..LIMITS });
    let known: Vec<_> = (0..80).map(|_| known(&slots, "192.0.2.1")).collect();
    let strangers: Vec<_> = (0..100).map(|_| enter(&slots, "192.0.2.1")).collect();
    assert_eq!((count(&known), count(&strangers)), (80, 10));
    assert!(!slots.signed_in(strangers[99].id()), "there is no room for another one that stays");
}

#[test]
fn authenticated_connections_are_evicted_after_anonymous_ones_and_sockets_never() {
    let slots = ConnectionSlots::new(LIMITS);
    let (mine, other) = (asked_as(&slots, 1, "192.0.2.1"), asked_as(&slots, 1, "192.0.2.1"));
    let (stranger, next) = (enter(&slots, "192.0.2.1"), enter(&slots, "192.0.2.1"));
    assert!(mine.is_in() && other.is_in() && !stranger.is_in() && next.is_in());
    assert!(slots.signed_in(next.id()));
    // The first connection is used again, so the other has been idle longer.
    slots.requested(mine.id(), false);
    slots.answered(mine.id(), slots.now());
    let newest = enter(&slots, "192.0.2.1");
    assert!(mine.is_in() && !other.is_in() && next.is_in() && newest.is_in());
}

#[test]
fn a_new_socket_evicts_an_authenticated_connection_if_no_anonymous_one_is_left() {
    let many = CrowdLimits { total_max: 80, per_address_max: 1_000, per_network_max: 1_000 };
    let slots = ConnectionSlots::new(SlotLimits { all: many, anonymous: many, ..LIMITS });
    let asked: Vec<_> = (0..80).map(|user| asked_as(&slots, user, "192.0.2.1")).collect();
    let sockets: Vec<_> = (0..80).map(|_| known(&slots, "192.0.2.1")).collect();
    assert_eq!((count(&asked), count(&sockets)), (0, 80));
    assert!(slots.table().by_user.is_empty());
}

#[test]
fn authenticated_connections_per_user_are_bounded_and_further_ones_stay_anonymous() {
    let many = CrowdLimits { total_max: 1_000, per_address_max: 1_000, per_network_max: 1_000 };
    let few = CrowdLimits { per_address_max: 2, ..many };
    let slots = ConnectionSlots::new(SlotLimits { all: many, anonymous: few, ..LIMITS });
    let mine: Vec<_> = (0..200).map(|_| asked_as(&slots, 1, "192.0.2.1")).collect();
    assert_eq!(count(&mine), AUTHENTICATED_PER_USER_MAX + 2);
    assert!(asked_as(&slots, 2, "192.0.2.1").is_in());
    // A new socket is anonymous until it is signed in, and can be evicted.
    assert!(slots.becomes_socket(mine[0].id(), ClientAddress("192.0.2.1".parse().unwrap())));
    assert_eq!(slots.table().by_user[&UserId::new(1)], AUTHENTICATED_PER_USER_MAX - 1);
    drop(mine);
    assert!(!slots.table().by_user.contains_key(&UserId::new(1)));
}

#[test]
fn the_longest_idle_connection_is_evicted_first_and_pending_requests_last() {
    let slots = ConnectionSlots::new(LIMITS);
    let (asks, idle) = (enter(&slots, "192.0.2.1"), enter(&slots, "192.0.2.1"));
    slots.requested(asks.id(), false);
    let third = enter(&slots, "192.0.2.1");
    assert!(asks.is_in() && !idle.is_in() && third.is_in());
    // After its answer, it has been idle for less time than the third one.
    slots.answered(asks.id(), slots.now());
    let fourth = enter(&slots, "192.0.2.1");
    assert!(asks.is_in() && !third.is_in() && fourth.is_in());
}

#[test]
fn idle_connections_are_ordered_by_the_time_of_their_answers() {
    let slots = ConnectionSlots::new(LIMITS);
    let (first, second) = (enter(&slots, "192.0.2.1"), enter(&slots, "192.0.2.1"));
    let answers = [&first, &second].map(|connection| {
        slots.requested(connection.id(), false);
        slots.now()
    });
    slots.answered(second.id(), answers[1]);
    slots.answered(first.id(), answers[0]);
    let third = enter(&slots, "192.0.2.1");
    assert!(!first.is_in() && second.is_in() && third.is_in());
}

#[test]
fn dropping_a_slot_frees_it() {
    let slots = ConnectionSlots::new(LIMITS);
    drop((known(&slots, "192.0.2.1"), enter(&slots, "192.0.2.1"), asked_as(&slots, 1, "192.0.2.1")));
    let table = slots.table();
    assert!(table.open.is_empty() && table.by_address.is_empty() && table.by_network.is_empty());
    assert!(table.by_user.is_empty() && table.everybody.evictable.is_empty());
    assert_eq!((table.everybody.count, table.everybody.anonymous_count), (0, 0));
}

#[test]
fn a_proxy_has_no_address_and_its_sockets_have_those_of_their_clients() {
    let slots = ConnectionSlots::new(LIMITS);
    let proxied: Vec<_> = (0..4).map(|_| enter(&slots, "proxy")).collect();
    assert_eq!(count(&proxied), 4);
    slots.authenticated(proxied[0].id(), UserId::new(1));
    slots.answered(proxied[3].id(), slots.now());
    slots.expire(Instant::now() + Duration::from_secs(7));
    assert!(proxied[3].is_in(), "the next request on it is another client's");
    let client = ClientAddress("192.0.2.1".parse().unwrap());
    for socket in &proxied[..3] {
        assert!(slots.becomes_socket(socket.id(), client));
    }
    assert_eq!(count(&proxied[..3]), LIMITS.anonymous.per_address_max);
}

#[test]
fn a_refused_socket_stays_a_connection_of_the_proxy() {
    let slots = ConnectionSlots::new(LIMITS);
    let client = ClientAddress("192.0.2.1".parse().unwrap());
    let sockets: Vec<_> = (0..3).map(|_| enter(&slots, "proxy")).collect();
    for socket in &sockets {
        assert!(slots.becomes_socket(socket.id(), client) && slots.signed_in(socket.id()));
    }
    let further = enter(&slots, "proxy");
    assert!(!slots.becomes_socket(further.id(), client), "the address has as many as it may have");
    assert_eq!(count(&sockets), 3);
    assert_eq!(slots.table().by_address[&client.address()].count, 3);
    // The next request on it may be another client's.
    assert!(further.is_in());
    assert!(slots.becomes_socket(further.id(), ClientAddress("198.51.100.1".parse().unwrap())));
    drop((sockets, further));
    assert!(slots.table().by_address.is_empty() && slots.table().by_network.is_empty());
}

#[test]
fn late_and_idle_connections_are_closed_but_sockets_are_not() {
    let slots = ConnectionSlots::new(LIMITS);
    let now = Instant::now();
    let (slow, socket) = (enter(&slots, "192.0.2.1"), enter(&slots, "192.0.3.1"));
    let (idle, known) = (enter(&slots, "192.0.4.1"), known(&slots, "192.0.5.1"));
    slots.requested(socket.id(), false);
    assert!(slots.becomes_socket(socket.id(), ClientAddress("192.0.3.1".parse().unwrap())));
    for id in [socket.id(), idle.id(), known.id()] {
        slots.answered(id, slots.now());
    }
    slots.expire(now);
    assert!(slow.is_in() && idle.is_in());
    slots.expire(now + Duration::from_secs(7));
    assert!(slow.is_in() && !idle.is_in());
    slots.expire(now + Duration::from_secs(20));
    assert!(!slow.is_in() && socket.is_in() && known.is_in());
    slots.end_idle();
    assert!(!socket.is_in() && known.is_in());
}

/// A connection on which an answer of this size to this user is being written.
fn answering(slots: &Arc<ConnectionSlots>, user: u64, bytes: usize) -> Visitor {
    let visitor = asked_as(slots, user, "proxy");
    visitor.control.set_caller(Some(UserId::new(user)));
    slots.answer_begins(&visitor.control, bytes);
    visitor
}

#[test]
fn answers_of_all_connections_are_bounded_and_the_user_with_most_loses_theirs() {
    let many = CrowdLimits { total_max: 100, per_address_max: 100, per_network_max: 100 };
    let slots = ConnectionSlots::new(SlotLimits { all: many, anonymous: many, ..LIMITS });
    let reader = answering(&slots, 1, 900);
    let stranger = enter(&slots, "proxy");
    slots.answer_begins(&stranger.control, 100_000);
    let mut greedy: Vec<_> = (0..5).map(|_| answering(&slots, 2, 600)).collect();
    assert_eq!((slots.answers.bytes(), count(&greedy)), (3_900, 5), "as much as there may be");
    greedy.push(answering(&slots, 3, 101));
    assert!(reader.is_in() && stranger.is_in() && greedy[5].is_in());
    // Some room is left, so that the next answer needs no search.
    assert_eq!((slots.answers.bytes(), count(&greedy[..5])), (3_401, 4));
    drop(greedy);
    assert_eq!(slots.answers.bytes(), 900);
}

#[test]
fn an_answer_counts_until_it_is_written_or_the_next_one_begins() {
    let slots = ConnectionSlots::new(LIMITS);
    let visitor = answering(&slots, 1, 900);
    slots.answer_begins(&visitor.control, 500);
    assert_eq!(slots.answers.bytes(), 500);
    visitor.slot.as_ref().unwrap().answered(slots.now());
    assert_eq!(slots.answers.bytes(), 0);
    slots.answer_begins(&visitor.control, 700);
    drop(visitor);
    assert_eq!(slots.answers.bytes(), 0);
}
