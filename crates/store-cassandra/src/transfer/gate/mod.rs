//! The gate that every write passes, so that a transfer to another store misses no write.
//!
//! A port method that writes [enters](Gate::enter) the gate first and [leaves](Pass::leave) it with its answer. Every change of
//! the transfer state begins a new *round*. A write belongs to the round in which it entered, until it leaves.
//!
//! ```text
//! TransferState   enter() of a write                 enter_to_finish() of a repair after a crash
//! Not, In         passes                             passes
//! Out             marks the parts, then passes       passes
//! Held            refused                            passes
//! Gone            refused                            refused
//! ```
//!
//! A *handle* is one open [`CassandraStore`](crate::CassandraStore). The protocol between the transferring process and each handle:
//!
//! ```text
//! transferring process         tables                     handle
//!   begin round 8 ─────────────▶ transfer: round 8
//!                                        ──── look() ────▶ learn: new writes belong to round 8
//!                                                          wait until all writes of round 7 have left
//!                                servers: round 8 ◀─────── say(8)
//!   wait until every row in `servers` says 8
//!   marks of round 7 are complete: copy what they name
//! ```
//!
//! **A stale handle does no harm.** A handle may still work in round 7 after round 8 has begun, because the transferring process
//! waits until the handle's row in `servers` says 8.
//!
//! **The row is a lease.** The transferring process does not wait for a handle whose row has expired, so such a handle must not
//! rely on the state that it knows:
//!
//! ```text
//! row sent                                       sure_until           row expires
//! ├──────────────────── SURE ────────────────────┤                    │
//! ├──────────────────────────── TTL_SECS ────────┼────────────────────┤
//!   writes enter and leave without a check       │ make_sure(): write the row, read the state, before a write enters
//!                                                │              and before a write leaves with its answer
//! ```
//!
//! If `make_sure` finds a newer round, the transferring process may not have waited for the writes that are inside. Their
//! callers learn that the outcome is unknown.
//!
//! Changes of accounts are marked where they are written, see [`Gate::change`]. Without a transfer, the gate costs a write two
//! readings of the clock and an uncontended lock.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use godwit_domain::ports::{Part, StoreError, TransferState};
use tokio::sync::{Mutex as AsyncMutex, Notify, oneshot};
use tokio::time::{Instant, sleep};

use super::ledger::State;
use crate::cql::unavailable;
use crate::servers::TTL_SECS;

/// How long a handle relies on a row that it has sent: the time to live, minus the possible difference between the clocks of the
/// Cassandra nodes.
const SURE: Duration = Duration::from_secs(TTL_SECS - 10);
/// How often a handle writes its row.
const SAY_INTERVAL: Duration = Duration::from_secs(8);
/// The number of parts remembered as marked. Above this, all are forgotten, and a part may be marked again.
const MARKED_KNOWN_MAX: usize = 65_536;

/// The tables that the gate reads and writes: the state of the transfer, the marks, and the row of this handle in `servers`.
#[async_trait]
pub(crate) trait Records: fmt::Debug + Send + Sync {
    /// Writes the row of this handle. It says that the handle is open, and that all its writes of rounds before `round` have
    /// left.
    async fn say(&self, round: u64) -> Result<(), StoreError>;

    async fn state(&self) -> Result<State, StoreError>;

    async fn mark(&self, round: u64, parts: &[Part]) -> Result<(), StoreError>;
}

#[derive(Debug)]
pub(crate) struct Gate {
    records: Arc<dyn Records>,
    known: Mutex<Known>,
    /// Held during `make_sure`, so that concurrent callers share its result.
    making_sure: AsyncMutex<()>,
    /// The round in the row of this handle.
    reached: AtomicU64,
    /// Notified when the handle learns of a new round.
    begun: Notify,
}

#[derive(Debug)]
struct Known {
    round: Arc<Round>,
    /// Completes when the last write of this round has left and a newer round has begun.
    ended: oneshot::Receiver<()>,
    /// The same for earlier rounds, until [`Gate::follow`] waits for them.
    ending: Vec<oneshot::Receiver<()>>,
    /// The row is certainly in `servers` until this time, so every new round waits for this handle.
    sure_until: Instant,
    /// The number of calls of `make_sure` that had to do something. A write that sees another number when it leaves was inside
    /// while the row may have been expired.
    breaks: u64,
}

/// A round. Every write inside the gate holds a reference to the round in which it entered.
#[derive(Debug)]
struct Round {
    state: State,
    /// The parts that this handle has marked in this round.
    marked: Mutex<HashSet<Part>>,
    /// Dropped with the last reference, which completes `Known::ended`.
    _under_way: oneshot::Sender<()>,
}

/// A write inside the gate.
#[derive(Debug)]
#[must_use = "an answer counts only after it has left"]
pub(crate) struct Pass<'a> {
    gate: &'a Gate,
    round: Arc<Round>,
    breaks: u64,
}

/// Keeps the round open for a write that outlives its caller, until it is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay {
    _round: Arc<Round>,
}

impl Gate {
    pub(crate) async fn open(records: Arc<dyn Records>) -> Result<Arc<Self>, StoreError> {
        let sent = Instant::now();
        // The row is written before the state is read: a round that begins after the read waits for this handle.
        records.say(0).await?;
        let state = records.state().await?;
        if state.round > 0 {
            records.say(state.round).await?;
        }
        let reached = AtomicU64::new(state.round);
        let (round, ended) = Round::begin(state);
        let known = Known { round, ended, ending: Vec::new(), sure_until: sent + SURE, breaks: 0 };
        Ok(Arc::new(Self {
            records,
            known: Mutex::new(known),
            making_sure: AsyncMutex::default(),
            reached,
            begun: Notify::new(),
        }))
    }

    /// Lets in a write that may change these parts, unless writes are refused.
    pub(crate) async fn enter<I>(&self, parts: I) -> Result<Pass<'_>, StoreError>
    where
        I: IntoIterator<Item = Part> + Send,
    {
        let pass = self.pass().await?;
        match &pass.round.state.transfer {
            TransferState::Not | TransferState::In { .. } => Ok(pass),
            TransferState::Out { .. } => {
                pass.mark(parts).await?;
                Ok(pass)
            }
            transfer @ (TransferState::Held { .. } | TransferState::Gone { .. }) => Err(refused(transfer)),
        }
    }

    /// Lets in a task that completes an operation after a crash. Reads through the ports have the same results before and after,
    /// so this is allowed while writes are held.
    pub(crate) async fn enter_to_finish(&self) -> Result<Pass<'_>, StoreError> {
        let pass = self.pass().await?;
        match &pass.round.state.transfer {
            transfer @ TransferState::Gone { .. } => Err(refused(transfer)),
            _ => Ok(pass),
        }
    }

    /// Keeps the present round open for a write that continues even if its caller gives up.
    pub(crate) fn begin(&self) -> UnderWay {
        UnderWay { _round: self.known().round.clone() }
    }

    /// Marks a part that is about to change, for a write that has entered in the present round or an earlier one.
    pub(crate) async fn change(&self, part: Part) -> Result<UnderWay, StoreError> {
        let round = self.known().round.clone();
        self.mark(&round, [part]).await?;
        Ok(UnderWay { _round: round })
    }

    /// Fails when no write will ever be accepted again.
    pub(crate) fn health(&self) -> Result<(), StoreError> {
        match self.known().round.state.transfer {
            TransferState::Gone { .. } => Err(StoreError::Stopped),
            _ => Ok(()),
        }
    }

    /// Reads the state again, and learns of a new round.
    pub(crate) async fn look(&self) -> Result<(), StoreError> {
        if !self.is_sure() {
            return self.make_sure().await;
        }
        self.learn(self.records.state().await?);
        Ok(())
    }

    /// Begins a new round, if this state is newer.
    pub(super) fn learn(&self, state: State) {
        let mut known = self.known();
        if state.round > known.round.state.round {
            let (round, ended) = Round::begin(state);
            known.round = round;
            let before = std::mem::replace(&mut known.ended, ended);
            known.ending.push(before);
            self.begun.notify_one();
        }
    }

    /// Writes the row of this handle periodically, until the future is dropped.
    pub(crate) async fn stay(&self) {
        loop {
            sleep(SAY_INTERVAL).await;
            let sent = Instant::now();
            match self.say().await {
                Ok(()) => self.extend(sent),
                Err(error) => tracing::debug!(%error, "could not renew the row of this server; retrying"),
            }
        }
    }

    /// For every new round, waits until the writes of all earlier rounds have left, and then writes the round into the row of
    /// this handle. Runs until the future is dropped.
    pub(crate) async fn follow(&self) {
        loop {
            self.begun.notified().await;
            let (round, ending) = {
                let mut known = self.known();
                (known.round.state.round, std::mem::take(&mut known.ending))
            };
            for ended in ending {
                // Nothing is ever sent: the channel closes with the last reference to the round.
                drop(ended.await);
            }
            self.reached.store(round, Ordering::Release);
            if let Err(error) = self.say().await {
                tracing::debug!(%error, round, "could not confirm the transfer round; retrying");
            }
        }
    }

    async fn say(&self) -> Result<(), StoreError> {
        self.records.say(self.reached.load(Ordering::Acquire)).await
    }

    async fn pass(&self) -> Result<Pass<'_>, StoreError> {
        loop {
            {
                let known = self.known();
                if Instant::now() < known.sure_until {
                    return Ok(Pass { gate: self, round: known.round.clone(), breaks: known.breaks });
                }
            }
            self.make_sure().await?;
        }
    }

    fn is_sure(&self) -> bool {
        Instant::now() < self.known().sure_until
    }

    /// Extends `sure_until` after the row sent at `sent` has arrived, but only while the previous row has not expired: a round
    /// may have begun and ended while there was no row.
    fn extend(&self, sent: Instant) {
        let mut known = self.known();
        if Instant::now() < known.sure_until {
            known.sure_until = known.sure_until.max(sent + SURE);
        }
    }

    /// Writes the row, and then reads the state: a round that begins after the read waits for this handle.
    async fn make_sure(&self) -> Result<(), StoreError> {
        let _turn = self.making_sure.lock().await;
        if self.is_sure() {
            return Ok(());
        }
        let sent = Instant::now();
        self.say().await?;
        self.learn(self.records.state().await?);
        let mut known = self.known();
        known.sure_until = sent + SURE;
        known.breaks += 1;
        Ok(())
    }

    async fn mark<I>(&self, round: &Round, parts: I) -> Result<(), StoreError>
    where
        I: IntoIterator<Item = Part> + Send,
    {
        if !round.state.keeps_marks() {
            return Ok(());
        }
        let unmarked = round.unmarked(parts);
        if unmarked.is_empty() {
            return Ok(());
        }
        self.records.mark(round.state.round, &unmarked).await?;
        round.remember(unmarked);
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass<'_> {
    /// Marks more parts that are about to change.
    pub(crate) async fn mark<I>(&self, parts: I) -> Result<(), StoreError>
    where
        I: IntoIterator<Item = Part> + Send,
    {
        self.gate.mark(&self.round, parts).await
    }

    /// Returns the answer of the write, if every round that has begun since the write entered has certainly waited for it.
    pub(crate) async fn leave<T>(self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        let answer = answer?;
        if self.was_sure() {
            return Ok(answer);
        }
        self.gate.make_sure().await?;
        if self.gate.known().round.state.round == self.round.state.round {
            return Ok(answer);
        }
        Err(unavailable("write", "a transfer of the data began or continued while it was in progress"))
    }

    fn was_sure(&self) -> bool {
        let known = self.gate.known();
        known.breaks == self.breaks && Instant::now() < known.sure_until
    }
}

impl Round {
    fn begin(state: State) -> (Arc<Self>, oneshot::Receiver<()>) {
        let (under_way, ended) = oneshot::channel();
        (Arc::new(Self { state, marked: Mutex::default(), _under_way: under_way }), ended)
    }

    fn unmarked(&self, parts: impl IntoIterator<Item = Part>) -> Vec<Part> {
        let marked = self.marked();
        let mut unmarked: Vec<Part> = parts.into_iter().filter(|part| !marked.contains(part)).collect();
        unmarked.sort_unstable();
        unmarked.dedup();
        unmarked
    }

    fn remember(&self, parts: Vec<Part>) {
        let mut marked = self.marked();
        if marked.len() + parts.len() > MARKED_KNOWN_MAX {
            marked.clear();
        }
        marked.extend(parts);
    }

    fn marked(&self) -> MutexGuard<'_, HashSet<Part>> {
        self.marked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(transfer: &TransferState) -> StoreError {
    unavailable("write", format!("the data {transfer}"))
}
