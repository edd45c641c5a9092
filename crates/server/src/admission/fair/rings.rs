//! The requests that wait, and who is next.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Turn;
use crate::network::ClientAddress;

/// The weight of a measurement in the moving average: one in this many.
const TOOK_SMOOTHING: u32 = 8;

pub(super) type Waiter = oneshot::Sender<Turn>;

#[derive(Debug)]
pub(super) struct State {
    pub(super) running: usize,
    /// The duration of a turn, as a moving average.
    took: Duration,
    strangers: Ring,
    known: Ring,
    known_are_next: bool,
}

/// Waiting requests by network, in round-robin order.
#[derive(Debug, Default)]
pub(super) struct Ring {
    lanes: HashMap<IpAddr, Lane>,
    order: VecDeque<IpAddr>,
    waiting: usize,
}

/// The waiting requests of one network, sorted by round: in each round, every address has one turn.
#[derive(Debug, Default)]
struct Lane(VecDeque<Waiting>);

#[derive(Debug)]
struct Waiting {
    address: IpAddr,
    round: u64,
    waiter: Waiter,
}

impl State {
    pub(super) fn new(took_at_first: Duration) -> Self {
        Self {
            running: 0,
            took: took_at_first,
            strangers: Ring::default(),
            known: Ring::default(),
            known_are_next: true,
        }
    }

    pub(super) const fn waiting(&self) -> usize {
        self.strangers.waiting + self.known.waiting
    }

    pub(super) const fn ring(&mut self, is_known: bool) -> &mut Ring {
        if is_known { &mut self.known } else { &mut self.strangers }
    }

    pub(super) fn ended(&mut self, took: Duration) {
        self.running -= 1;
        self.took = (self.took * (TOOK_SMOOTHING - 1) + took) / TOOK_SMOOTHING;
    }

    pub(super) fn next(&mut self) -> Option<Waiter> {
        let known_are_next = self.known_are_next;
        self.known_are_next = !known_are_next;
        let first = self.ring(known_are_next).next();
        first.or_else(|| self.ring(!known_are_next).next())
    }

    /// The expected wait for a new request.
    pub(super) fn expected_wait(
        &mut self,
        from: ClientAddress,
        is_known: bool,
        at_once_max: usize,
    ) -> Duration {
        let ahead = self.ring(is_known).ahead_of(from);
        let others = self.ring(!is_known).waiting.min(ahead + 1);
        let rounds = (ahead + others) / at_once_max + 1;
        self.took * u32::try_from(rounds).unwrap_or(u32::MAX)
    }

    /// Frees a place by refusing the last request of the strangers' network with the most requests. A stranger gets the place
    /// only if that network has more requests than the stranger's own network would have. A known device always gets it, so
    /// that many networks with one request each cannot fill the queue.
    pub(super) fn take_from_longest(&mut self, network: IpAddr, is_known: bool) -> bool {
        let longer_than = if is_known { 0 } else { self.strangers.waiting_of(network) + 1 };
        self.strangers.drop_last_of_longest(longer_than)
    }

    pub(super) fn forget_the_gone(&mut self) {
        self.strangers.forget_the_gone();
        self.known.forget_the_gone();
    }
}

impl Ring {
    pub(super) fn push(&mut self, network: IpAddr, address: IpAddr, waiter: Waiter) {
        let lane = self.lanes.entry(network).or_default();
        if lane.0.is_empty() {
            self.order.push_back(network);
        }
        lane.push(address, waiter);
        self.waiting += 1;
    }

    /// Whether another address of the network has more requests than this one would have.
    pub(super) fn has_longer_neighbour(&self, network: IpAddr, address: IpAddr) -> bool {
        self.lanes.get(&network).is_some_and(|lane| {
            let round = lane.round_of_next(address);
            lane.0.back().is_some_and(|last| last.round > round)
        })
    }

    /// Frees a place by refusing the last request of the address with the most requests in a network.
    pub(super) fn take_from_neighbour(&mut self, network: IpAddr) {
        let taken = self.lanes.get_mut(&network).and_then(|lane| lane.0.pop_back());
        self.waiting -= usize::from(taken.is_some());
        self.remove_if_empty(network);
    }

    /// The first request of the next network, which then moves to the end of the order.
    fn next(&mut self) -> Option<Waiter> {
        while let Some(network) = self.order.pop_front() {
            let Some(lane) = self.lanes.get_mut(&network) else { continue };
            let waiter = lane.0.pop_front().map(|waiting| waiting.waiter);
            self.waiting -= usize::from(waiter.is_some());
            if lane.0.is_empty() {
                self.lanes.remove(&network);
            } else {
                self.order.push_back(network);
            }
            match waiter {
                Some(waiter) if !waiter.is_closed() => return Some(waiter),
                _ => {}
            }
        }
        None
    }

    pub(super) fn waiting_of(&self, network: IpAddr) -> usize {
        self.lanes.get(&network).map_or(0, |lane| lane.0.len())
    }

    /// The number of requests that get their turn before a new request of this address: in its own network, those of the same
    /// and of earlier rounds; in each other network, as many plus one.
    fn ahead_of(&self, from: ClientAddress) -> usize {
        let network = from.network();
        let own = self.lanes.get(&network).map_or(0, |lane| lane.place_of_next(from.address()));
        let others = self.lanes.iter().filter(|(other, _)| **other != network);
        own + others.map(|(_, lane)| lane.0.len().min(own + 1)).sum::<usize>()
    }

    fn drop_last_of_longest(&mut self, longer_than: usize) -> bool {
        let Some((network, lane)) = self.lanes.iter_mut().max_by_key(|(_, lane)| lane.0.len()) else {
            return false;
        };
        if lane.0.len() <= longer_than {
            return false;
        }
        let network = *network;
        lane.0.pop_back();
        self.waiting -= 1;
        debug_assert!(self.order.contains(&network), "a network that waits has its turn");
        self.remove_if_empty(network);
        true
    }

    pub(super) fn forget_the_gone_of(&mut self, network: IpAddr) {
        let Some(lane) = self.lanes.get_mut(&network) else { return };
        let before = lane.0.len();
        lane.0.retain(|waiting| !waiting.waiter.is_closed());
        self.waiting -= before - lane.0.len();
        self.remove_if_empty(network);
    }

    fn remove_if_empty(&mut self, network: IpAddr) {
        if self.waiting_of(network) == 0 {
            self.lanes.remove(&network);
            self.order.retain(|other| *other != network);
        }
    }

    fn forget_the_gone(&mut self) {
        self.lanes.retain(|_, lane| {
            lane.0.retain(|waiting| !waiting.waiter.is_closed());
            !lane.0.is_empty()
        });
        let lanes = &self.lanes;
        self.order.retain(|network| lanes.contains_key(network));
        self.waiting = self.lanes.values().map(|lane| lane.0.len()).sum();
    }
}

impl Lane {
    fn push(&mut self, address: IpAddr, waiter: Waiter) {
        let round = self.round_of_next(address);
        let place = self.place_of_next(address);
        self.0.insert(place, Waiting { address, round, waiter });
    }

    fn place_of_next(&self, address: IpAddr) -> usize {
        let round = self.round_of_next(address);
        self.0.partition_point(|waiting| waiting.round <= round)
    }

    /// The round of the next request of an address: the one after its last, or the current one.
    fn round_of_next(&self, address: IpAddr) -> u64 {
        let last = self.0.iter().rev().find(|waiting| waiting.address == address);
        let current = || self.0.front().map_or(0, |first| first.round);
        last.map_or_else(current, |last| last.round + 1)
    }
}
