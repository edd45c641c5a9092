//! The gate that every write passes, so that a transfer to another store misses no write.
//!
//! A port method that writes [enters](Gate::enter) the gate first and [leaves](Pass::leave) it with its answer. A write belongs to
//! the *round* in which it entered, until it has left. Every change of the state of a transfer begins a new round.
//!
//! ```text
//! TransferState   enter()                            enter_to_finish()
//! Not, In         passes                             passes
//! Out             marks the parts, then passes       passes
//! Held            refused                            passes
//! Gone            refused                            refused
//! ```
//!
//! The protocol between the process that transfers and a store handle (one open [`CassandraStore`](crate::CassandraStore)):
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
//! **A stale handle does no harm.** A handle may still believe in round 7 when round 8 has begun, because the transferring
//! process waits for the handle's row in `servers` to say 8.
//!
//! **A handle whose row expired is not waited for**, so it must not rely on what it knows. A row lives [`TTL_SECS`] seconds;
//! the handle relies on it until `sure_until`, which is [`SURE`] after the last write of the row was sent. Past that moment the
//! handle writes its row and reads the state again (`make_sure`), before it lets a write in and before it answers a write that
//! is inside. If a newer round has begun by then, the transferring process may not have waited for that write, so its caller is
//! told that the outcome is unknown.
//!
//! Changes of accounts are marked where they are written, see [`Gate::change`]. While nothing is transferred, the gate costs a
//! write two readings of the clock and an uncontended lock.

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

/// How long a row is certainly there after it was sent: its time to live, less what the clocks of the Cassandra nodes may
/// differ.
const SURE: Duration = Duration::from_secs(TTL_SECS - 10);
/// How often a handle writes its row.
const SAY_INTERVAL: Duration = Duration::from_secs(8);
/// How many parts are remembered as marked. At more, all are forgotten, and some are marked again.
const MARKED_KNOWN_MAX: usize = 65_536;

/// The tables that the gate reads and writes: the state of the transfer, the marks, and the row of this handle in `servers`.
#[async_trait]
pub(crate) trait Records: fmt::Debug + Send + Sync {
    /// Writes the row of this handle: it is open, and all its writes of rounds before `round` have left.
    async fn say(&self, round: u64) -> Result<(), StoreError>;

    async fn state(&self) -> Result<State, StoreError>;

    async fn mark(&self, round: u64, parts: &[Part]) -> Result<(), StoreError>;
}

#[derive(Debug)]
pub(crate) struct Gate {
    records: Arc<dyn Records>,
    known: Mutex<Known>,
    /// Held by the task that makes sure, so that those that wait share its result.
    making_sure: AsyncMutex<()>,
    /// The round that the row of this handle says.
    reached: AtomicU64,
    /// Notified when the handle learns of a new round.
    begun: Notify,
}

#[derive(Debug)]
struct Known {
    round: Arc<Round>,
    /// Completes when the last write of this round has left and a newer round has begun.
    ended: oneshot::Receiver<()>,
    /// The same for earlier rounds, until the row says that they have ended.
    ending: Vec<oneshot::Receiver<()>>,
    /// Until then the row is certainly in `servers`, so every new round waits for this handle.
    sure_until: Instant,
    /// How many times `sure_until` passed and the handle had to make sure.
    breaks: u64,
}

/// A round. Every write that is inside holds a reference to it.
#[derive(Debug)]
struct Round {
    state: State,
    /// The parts that this handle has marked in this round.
    marked: Mutex<HashSet<Part>>,
    /// Dropped with the last reference, which completes `Known::ended`.
    _under_way: oneshot::Sender<()>,
}

/// A write that has entered.
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

    /// Lets a write in that may change these parts, unless writes are refused.
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

    /// Lets in a task that finishes what a crash interrupted. Readers through the ports do not see that as a change, so it
    /// is allowed while writes are held.
    pub(crate) async fn enter_to_finish(&self) -> Result<Pass<'_>, StoreError> {
        let pass = self.pass().await?;
        match &pass.round.state.transfer {
            transfer @ TransferState::Gone { .. } => Err(refused(transfer)),
            _ => Ok(pass),
        }
    }

    /// Keeps the present round open for a write that goes on when its caller has gone.
    pub(crate) fn begin(&self) -> UnderWay {
        UnderWay { _round: self.known().round.clone() }
    }

    /// Marks a part that is about to change on behalf of a write that has entered, in this round or an earlier one.
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
                Err(error) => tracing::debug!(%error, "the cluster was not told that this server is there"),
            }
        }
    }

    /// Waits, for every new round, until the writes of all earlier rounds have left, and then writes that into the row. Runs
    /// until the future is dropped.
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

    /// The row that was sent at `sent` has arrived. It extends `sure_until` only while the row before it has not expired:
    /// otherwise a round may have begun and ended in the gap.
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

    /// Gives back the answer, if it is certain that a round begun since has waited for this write.
    pub(crate) async fn leave<T>(self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        let answer = answer?;
        if self.was_sure() {
            return Ok(answer);
        }
        self.gate.make_sure().await?;
        if self.gate.known().round.state.round == self.round.state.round {
            return Ok(answer);
        }
        Err(unavailable("write", "everything began to be transferred, or went on to be, before it was done"))
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
