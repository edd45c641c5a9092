//! The fair queue for password hashing: registrations, sign-ins and password changes.
//!
//! Hashing is slow on purpose, so one client that sends many passwords could make all others wait. The queue is round-robin
//! over networks: each network has one password hashed before any has a second, so a network that sends thousands slows down
//! only itself. Known devices, on which the user has signed in before, have a separate ring with every second slot. A
//! request that would wait too long is refused at once, with the time to retry.
//!
//! ```text
//! known      network A: ▪▪▪   network B: ▪          ─┐
//!                                                    ├─ in turn ─▶ hashed, so many at once
//! strangers  network A: ▪▪▪▪▪▪▪   network C: ▪▪     ─┘
//! ```

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use godwit_protocol::ErrorCode;
use metrics::{counter, histogram};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use tracing::Instrument;

use super::RETRY_SPREAD_S;
use crate::network::ClientAddress;
use crate::problem::{ApiError, ApiResult};

/// The assumed duration of a hash until some have been measured.
const TOOK_AT_FIRST: Duration = Duration::from_millis(50);
/// The weight of a measurement in the moving average: one in this many.
const TOOK_SMOOTHING: u32 = 8;
const NAME: &str = "password";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordQueueLimits {
    pub at_once_max: usize,
    pub waiting_max: usize,
    pub waiting_per_network_max: usize,
    pub wait_max: Duration,
}

#[derive(Debug)]
pub struct PasswordQueue {
    limits: PasswordQueueLimits,
    state: Mutex<State>,
}

impl PasswordQueue {
    pub fn new(limits: PasswordQueueLimits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::new(State::new()) })
    }

    /// Runs work that hashes a password, at its turn. Work that has started finishes even if its caller gives up: the hash
    /// goes on, so it keeps its permit.
    pub async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        from: ClientAddress,
        is_known: bool,
        work: impl Future<Output = T> + Send + 'static,
    ) -> ApiResult<T> {
        let turn = self.wait(from, is_known).await?;
        let work = async move {
            let outcome = work.await;
            drop(turn);
            outcome
        };
        tokio::spawn(work.in_current_span()).await.map_err(|error| ApiError::internal(&error))
    }

    async fn wait(self: &Arc<Self>, from: ClientAddress, is_known: bool) -> ApiResult<Turn> {
        let began = Instant::now();
        let turn = match self.enter(from.network(), is_known) {
            Entered::Now(turn) => return Ok(turn),
            Entered::Refused(error) => Err(error),
            Entered::Later(turn) => {
                let waited = timeout(self.limits.wait_max, turn).await;
                histogram!("godwit_admission_wait_seconds", "for" => NAME).record(began.elapsed());
                // Without a sender, the place in the queue went to a network with fewer requests.
                waited.ok().and_then(Result::ok).ok_or_else(|| too_many_of_all(self.limits.wait_max))
            }
        };
        if turn.is_err() {
            counter!("godwit_admission_refused_total", "for" => NAME).increment(1);
        }
        turn
    }

    fn enter(self: &Arc<Self>, network: IpAddr, is_known: bool) -> Entered {
        let mut state = self.state();
        if state.running < self.limits.at_once_max && state.waiting() == 0 {
            state.running += 1;
            return Entered::Now(self.turn());
        }
        if state.waiting() >= self.limits.waiting_max {
            state.forget_the_gone();
        }
        let expected = state.expected_wait(network, is_known, self.limits.at_once_max);
        if state.ring(is_known).waiting_of(network) >= self.limits.waiting_per_network_max {
            return Entered::Refused(
                ApiError::new(ErrorCode::RateLimited)
                    .with_detail("too many sign-ins from your network are waiting")
                    .with_retry_after(retry_after(expected)),
            );
        }
        let full = state.waiting() >= self.limits.waiting_max;
        if expected > self.limits.wait_max || (full && !state.take_from_longest(network, is_known)) {
            return Entered::Refused(too_many_of_all(expected));
        }
        let (sender, receiver) = oneshot::channel();
        state.ring(is_known).push(network, sender);
        Entered::Later(receiver)
    }

    /// Grants all free turns to waiting requests.
    fn give_turns(self: &Arc<Self>) {
        loop {
            let mut state = self.state();
            if state.running >= self.limits.at_once_max {
                return;
            }
            let Some(next) = state.next() else { return };
            state.running += 1;
            // Unlocks first: a turn whose caller has given up is returned at once, which locks again.
            drop(state);
            let _ = next.send(self.turn());
        }
    }

    fn turn(self: &Arc<Self>) -> Turn {
        Turn { queue: self.clone(), began: Instant::now() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returned on drop.
#[derive(Debug)]
struct Turn {
    queue: Arc<PasswordQueue>,
    began: Instant,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.queue.state().ended(self.began.elapsed());
        self.queue.give_turns();
    }
}

enum Entered {
    Now(Turn),
    Later(oneshot::Receiver<Turn>),
    Refused(ApiError),
}

type Waiter = oneshot::Sender<Turn>;

#[derive(Debug)]
struct State {
    running: usize,
    /// The duration of a hash, as a moving average.
    took: Duration,
    strangers: Ring,
    known: Ring,
    known_are_next: bool,
}

/// Waiting requests by network, in round-robin order.
#[derive(Debug, Default)]
struct Ring {
    lanes: HashMap<IpAddr, VecDeque<Waiter>>,
    order: VecDeque<IpAddr>,
    waiting: usize,
}

impl State {
    fn new() -> Self {
        Self {
            running: 0,
            took: TOOK_AT_FIRST,
            strangers: Ring::default(),
            known: Ring::default(),
            known_are_next: true,
        }
    }

    const fn waiting(&self) -> usize {
        self.strangers.waiting + self.known.waiting
    }

    const fn ring(&mut self, is_known: bool) -> &mut Ring {
        if is_known { &mut self.known } else { &mut self.strangers }
    }

    fn ended(&mut self, took: Duration) {
        self.running -= 1;
        self.took = (self.took * (TOOK_SMOOTHING - 1) + took) / TOOK_SMOOTHING;
    }

    fn next(&mut self) -> Option<Waiter> {
        let known_are_next = self.known_are_next;
        self.known_are_next = !known_are_next;
        let first = self.ring(known_are_next).next();
        first.or_else(|| self.ring(!known_are_next).next())
    }

    /// The expected wait for a new request of a network.
    fn expected_wait(&mut self, network: IpAddr, is_known: bool, at_once_max: usize) -> Duration {
        let ahead = self.ring(is_known).ahead_of(network);
        let others = self.ring(!is_known).waiting.min(ahead + 1);
        let rounds = (ahead + others) / at_once_max + 1;
        self.took * u32::try_from(rounds).unwrap_or(u32::MAX)
    }

    /// Takes the last place of the strangers' network that has most. A stranger takes it only where that is more than their
    /// own network would have; a known device takes it from any stranger, so that many networks with one request each
    /// cannot fill the queue.
    fn take_from_longest(&mut self, network: IpAddr, is_known: bool) -> bool {
        let longer_than = if is_known { 0 } else { self.strangers.waiting_of(network) + 1 };
        self.strangers.drop_last_of_longest(longer_than)
    }

    fn forget_the_gone(&mut self) {
        self.strangers.forget_the_gone();
        self.known.forget_the_gone();
    }
}

impl Ring {
    fn push(&mut self, network: IpAddr, waiter: Waiter) {
        let lane = self.lanes.entry(network).or_default();
        if lane.is_empty() {
            self.order.push_back(network);
        }
        lane.push_back(waiter);
        self.waiting += 1;
    }

    /// The first request of the next network, which then moves to the end of the order.
    fn next(&mut self) -> Option<Waiter> {
        while let Some(network) = self.order.pop_front() {
            let Some(lane) = self.lanes.get_mut(&network) else { continue };
            let waiter = lane.pop_front();
            self.waiting -= usize::from(waiter.is_some());
            if lane.is_empty() {
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

    fn waiting_of(&self, network: IpAddr) -> usize {
        self.lanes.get(&network).map_or(0, VecDeque::len)
    }

    /// The number of requests with a turn before a new one of this network: of each network, as many as this network has
    /// waiting, plus one.
    fn ahead_of(&self, network: IpAddr) -> usize {
        let own = self.waiting_of(network);
        own + self
            .lanes
            .iter()
            .filter(|(other, _)| **other != network)
            .map(|(_, lane)| lane.len().min(own + 1))
            .sum::<usize>()
    }

    fn drop_last_of_longest(&mut self, longer_than: usize) -> bool {
        let Some((network, lane)) = self.lanes.iter_mut().max_by_key(|(_, lane)| lane.len()) else {
            return false;
        };
        if lane.len() <= longer_than {
            return false;
        }
        let network = *network;
        lane.pop_back();
        self.waiting -= 1;
        debug_assert!(self.order.contains(&network), "a network that waits has its turn");
        if lane.is_empty() {
            self.lanes.remove(&network);
            self.order.retain(|other| *other != network);
        }
        true
    }

    fn forget_the_gone(&mut self) {
        self.lanes.retain(|_, lane| {
            lane.retain(|waiter| !waiter.is_closed());
            !lane.is_empty()
        });
        let lanes = &self.lanes;
        self.order.retain(|network| lanes.contains_key(network));
        self.waiting = self.lanes.values().map(VecDeque::len).sum();
    }
}

fn too_many_of_all(wait: Duration) -> ApiError {
    ApiError::new(ErrorCode::Unavailable)
        .with_detail("too many sign-ins are waiting")
        .with_retry_after(retry_after(wait))
}

/// The time after which the current requests have had their turn, randomized so that not all callers retry at once.
fn retry_after(wait: Duration) -> u32 {
    let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
    seconds.saturating_add(rand::random_range(1..=RETRY_SPREAD_S))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::task::{JoinHandle, yield_now};

    use super::*;

    const LIMITS: PasswordQueueLimits = PasswordQueueLimits {
        at_once_max: 1,
        waiting_max: 10,
        waiting_per_network_max: 6,
        wait_max: Duration::from_secs(60),
    };

    /// A queue whose hashes take until the test ends them.
    struct Stage {
        queue: Arc<PasswordQueue>,
        order: Arc<Mutex<Vec<&'static str>>>,
        going_on: Arc<AtomicUsize>,
        done: Arc<tokio::sync::Semaphore>,
    }

    impl Stage {
        fn new(limits: PasswordQueueLimits) -> Self {
            Self {
                queue: PasswordQueue::new(limits),
                order: Arc::default(),
                going_on: Arc::default(),
                done: Arc::new(tokio::sync::Semaphore::new(0)),
            }
        }

        async fn send(&self, name: &'static str, from: &str, is_known: bool) -> JoinHandle<ApiResult<()>> {
            let from = ClientAddress(from.parse().unwrap());
            let (queue, order, done) = (self.queue.clone(), self.order.clone(), self.done.clone());
            let going_on = self.going_on.clone();
            let sent = tokio::spawn(async move {
                let work = async move {
                    assert_eq!(going_on.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                    order.lock().unwrap().push(name);
                    done.acquire().await.unwrap().forget();
                    going_on.fetch_sub(1, Ordering::SeqCst);
                };
                queue.run(from, is_known, work).await
            });
            // Lets each request enter the queue before the next one is sent.
            for _ in 0..10 {
                yield_now().await;
            }
            sent
        }

        async fn finish(&self) -> Vec<&'static str> {
            self.done.add_permits(1_000);
            for _ in 0..1_000 {
                yield_now().await;
            }
            std::mem::take(&mut self.order.lock().unwrap())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn networks_take_turns() {
        let stage = Stage::new(LIMITS);
        let mut sent = Vec::new();
        for n in 0..5 {
            sent.push(stage.send("flood", &format!("192.0.2.{n}"), false).await);
        }
        sent.push(stage.send("ada", "198.51.100.1", false).await);
        sent.push(stage.send("ada", "198.51.100.2", false).await);
        sent.push(stage.send("bob", "203.0.113.1", false).await);
        assert_eq!(stage.finish().await, ["flood", "flood", "ada", "bob", "flood", "ada", "flood", "flood"]);
        for sent in sent {
            sent.await.unwrap().unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn known_devices_have_every_second_turn() {
        let stage = Stage::new(LIMITS);
        for n in 0..5 {
            stage.send("flood", &format!("192.0.{n}.1"), false).await;
        }
        stage.send("known", "192.0.2.1", true).await;
        stage.send("known", "192.0.2.1", true).await;
        assert_eq!(stage.finish().await, ["flood", "known", "flood", "known", "flood", "flood", "flood"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_network_has_a_limit_and_so_have_all() {
        let stage = Stage::new(LIMITS);
        let mut flood = Vec::new();
        for _ in 0..7 {
            flood.push(stage.send("flood", "192.0.2.1", false).await);
        }
        let refused =
            stage.send("flood", "192.0.2.9", false).await.await.unwrap().unwrap_err().into_problem();
        assert_eq!(refused.code, ErrorCode::RateLimited);
        assert!(refused.retry_after.unwrap() >= 1);
        // The queue is full. A network with fewer requests takes a place from the one with the most.
        for n in 0..5 {
            let sent = stage.send("other", &format!("198.51.{n}.1"), false).await;
            assert!(!sent.is_finished(), "{n}");
        }
        let refused = flood.remove(6).await.unwrap().unwrap_err().into_problem();
        assert_eq!(refused.code, ErrorCode::Unavailable);
        let order = stage.finish().await;
        assert_eq!(order.iter().filter(|name| **name == "flood").count(), 6);
        assert_eq!(order.iter().filter(|name| **name == "other").count(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_known_device_finds_a_place_however_many_networks_wait() {
        let stage = Stage::new(LIMITS);
        let mut flood = Vec::new();
        for n in 0..11 {
            flood.push(stage.send("flood", &format!("192.0.{n}.1"), false).await);
        }
        let refused = stage.send("flood", "192.0.11.1", false).await.await.unwrap();
        assert_eq!(refused.unwrap_err().code(), ErrorCode::Unavailable, "all places are taken");
        let known = stage.send("known", "198.51.100.1", true).await;
        assert!(!known.is_finished());
        let order = stage.finish().await;
        assert_eq!(order[..2], ["flood", "known"]);
        assert_eq!(order.len(), 11, "one stranger gave up their place");
        known.await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn who_would_wait_too_long_is_told_at_once() {
        let stage = Stage::new(PasswordQueueLimits { wait_max: TOOK_AT_FIRST * 3, ..LIMITS });
        let mut sent = Vec::new();
        for n in 0..5 {
            sent.push(stage.send("first", &format!("192.0.{n}.1"), false).await);
        }
        let refused = sent.remove(4).await.unwrap();
        assert_eq!(refused.unwrap_err().code(), ErrorCode::Unavailable);
        assert!(sent.iter().all(|sent| !sent.is_finished()));
        // Callers without an answer in time are refused too.
        let waited = sent.remove(2).await.unwrap();
        assert_eq!(waited.unwrap_err().code(), ErrorCode::Unavailable);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_gone_is_passed_over_and_what_was_begun_keeps_its_turn() {
        let stage = Stage::new(LIMITS);
        let begun = stage.send("begun", "192.0.2.1", false).await;
        let gone = stage.send("gone", "192.0.3.1", false).await;
        let stays = stage.send("stays", "192.0.4.1", false).await;
        begun.abort();
        gone.abort();
        yield_now().await;
        assert!(!stays.is_finished());
        assert_eq!(stage.order.lock().unwrap().as_slice(), ["begun"]);
        assert_eq!(stage.finish().await, ["begun", "stays"]);
        stays.await.unwrap().unwrap();
    }
}
