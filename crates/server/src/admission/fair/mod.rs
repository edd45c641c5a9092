//! A fair queue for work that anybody can request: password hashes, and sign-ins of sockets.
//!
//! Without fairness, one client that asks often makes all others wait. The queue is round-robin over networks: each network
//! has one turn before any has a second, so a network that sends thousands of requests slows down only itself. Within a
//! network, addresses take turns in the same way. Known devices, on which the user has signed in before, have a separate
//! ring with every second slot. A request that would wait too long is refused at once, with the time to retry.
//!
//! ```text
//! known      network A: ▪▪▪   network B: ▪          ─┐
//!                                                    ├─ in turn ─▶ so many at once
//! strangers  network A: ▪▪▪▪▪▪▪   network C: ▪▪     ─┘
//! ```
//!
//! - here: the queue and its turns
//! - [`rings`]: the waiting requests, and who is next

mod rings;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use godwit_protocol::ErrorCode;
use metrics::{counter, histogram};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use tracing::Instrument;

use self::rings::State;
use super::RETRY_SPREAD_S;
use crate::network::ClientAddress;
use crate::problem::{ApiError, ApiResult};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FairQueueLimits {
    pub at_once_max: usize,
    pub waiting_max: usize,
    pub waiting_per_network_max: usize,
    pub wait_max: Duration,
    /// The assumed duration of a turn until some have been measured.
    pub took_at_first: Duration,
}

#[derive(Debug)]
pub struct FairQueue {
    /// For the metrics.
    name: &'static str,
    limits: FairQueueLimits,
    state: Mutex<State>,
}

impl FairQueue {
    pub fn new(name: &'static str, limits: FairQueueLimits) -> Arc<Self> {
        Arc::new(Self { name, limits, state: Mutex::new(State::new(limits.took_at_first)) })
    }

    /// Runs work at its turn. Work that has started keeps its turn until it finishes, even if its caller gives up, because a
    /// started hash cannot be stopped.
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

    /// Waits for a turn, which ends when it is dropped.
    pub async fn wait(self: &Arc<Self>, from: ClientAddress, is_known: bool) -> ApiResult<Turn> {
        let began = Instant::now();
        let turn = match self.enter(from, is_known) {
            Entered::Now(turn) => return Ok(turn),
            Entered::Refused(error) => Err(error),
            Entered::Later(turn) => {
                let waited = timeout(self.limits.wait_max, turn).await;
                histogram!("godwit_admission_wait_seconds", "for" => self.name).record(began.elapsed());
                // Without a sender, the place in the queue went to a network with fewer requests.
                waited.ok().and_then(Result::ok).ok_or_else(|| too_many_of_all(self.limits.wait_max))
            }
        };
        if turn.is_err() {
            counter!("godwit_admission_refused_total", "for" => self.name).increment(1);
        }
        turn
    }

    fn enter(self: &Arc<Self>, from: ClientAddress, is_known: bool) -> Entered {
        let (address, network) = (from.address(), from.network());
        let mut state = self.state();
        if state.running < self.limits.at_once_max && state.waiting() == 0 {
            state.running += 1;
            return Entered::Now(self.turn());
        }
        let is_lane_full = |state: &mut State| {
            state.ring(is_known).waiting_of(network) >= self.limits.waiting_per_network_max
        };
        if state.waiting() >= self.limits.waiting_max {
            state.forget_the_gone();
        }
        if is_lane_full(&mut state) {
            state.ring(is_known).forget_the_gone_of(network);
        }
        let expected = state.expected_wait(from, is_known, self.limits.at_once_max);
        let is_lane_full = is_lane_full(&mut state);
        if is_lane_full && !state.ring(is_known).has_longer_neighbour(network, address) {
            return Entered::Refused(
                ApiError::new(ErrorCode::RateLimited)
                    .with_detail("too many sign-ins from your network are waiting")
                    .with_retry_after(retry_after(expected)),
            );
        }
        if expected > self.limits.wait_max {
            return Entered::Refused(too_many_of_all(expected));
        }
        let is_full = state.waiting() >= self.limits.waiting_max;
        if is_lane_full {
            state.ring(is_known).take_from_neighbour(network);
        } else if is_full && !state.take_from_longest(network, is_known) {
            return Entered::Refused(too_many_of_all(expected));
        }
        let (sender, receiver) = oneshot::channel();
        state.ring(is_known).push(network, address, sender);
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

/// Admits one request until it is dropped.
#[derive(Debug)]
pub struct Turn {
    queue: Arc<FairQueue>,
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

fn too_many_of_all(wait: Duration) -> ApiError {
    ApiError::new(ErrorCode::Unavailable)
        .with_detail("too many sign-ins are waiting")
        .with_retry_after(retry_after(wait))
}

/// The time until the current requests have had their turn, randomized so that not all callers retry at once.
fn retry_after(wait: Duration) -> u32 {
    let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
    seconds.saturating_add(rand::random_range(1..=RETRY_SPREAD_S))
}
