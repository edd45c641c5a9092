//! What every write passes, so that a move knows of it.
//!
//! A port method that writes [enters](Gate::enter) before it does, and [leaves](Pass::leave) with its answer. On the way in
//! it is refused while writes are held and after everything was moved; and while a move is under way, what it is about to
//! change is marked first, in the round that it is. It then belongs to that round until it has left. What becomes of
//! accounts is marked where they are written, see [`Gate::change`].
//!
//! What a store handle knows of a move is what it has read last, and somebody may have changed it since. That does no harm,
//! because whoever changes it waits for all who are in `servers` to say that they follow, and this handle says so only when
//! all writes of earlier rounds have left. So what it knows counts as long as its row is certainly there, without a break
//! since it was read. A handle whose row may have ended, because its process or the cluster was away for too long, writes
//! the row and reads anew before it lets somebody in, and before it answers those who are inside. If a round has begun
//! meanwhile nobody may have waited for these, and they are told that the outcome is not known.
//!
//! While nothing is moved it costs two looks at the clock and at a lock that nobody holds for long.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use godwit_domain::ports::{Moving, Part, StoreError};
use tokio::sync::{Mutex as AsyncMutex, Notify, oneshot};
use tokio::time::{Instant, sleep};

use super::ledger::State;
use crate::cql::unavailable;
use crate::servers::TTL_SECS;

/// How long the row is certainly there after it was sent: less than it lives, by what the clocks of the cluster may be apart.
const SURE: Duration = Duration::from_secs(TTL_SECS - 10);
const SAY_INTERVAL: Duration = Duration::from_secs(8);
/// Parts that are remembered as marked. When there are more all are forgotten, and some are marked again.
const MARKED_KNOWN_MAX: usize = 65_536;

/// Where it stands what is known of a move.
#[async_trait]
pub(crate) trait Records: fmt::Debug + Send + Sync {
    /// Says that this handle is there, and that all its writes of rounds before this one have ended.
    async fn say(&self, round: u64) -> Result<(), StoreError>;

    async fn state(&self) -> Result<State, StoreError>;

    async fn mark(&self, round: u64, parts: &[Part]) -> Result<(), StoreError>;
}

#[derive(Debug)]
pub(crate) struct Gate {
    records: Arc<dyn Records>,
    known: Mutex<Known>,
    /// One makes sure for all who wait.
    making_sure: AsyncMutex<()>,
    /// The round that this handle has come to.
    reached: AtomicU64,
    /// A round has begun.
    begun: Notify,
}

#[derive(Debug)]
struct Known {
    round: Arc<Round>,
    /// Ends with the last write of this round, once there is another one.
    ended: oneshot::Receiver<()>,
    /// The same of earlier rounds that this handle has not gone on from.
    ending: Vec<oneshot::Receiver<()>>,
    /// Until then nobody goes on without this handle.
    sure_until: Instant,
    /// How often it was not sure, and has looked again.
    breaks: u64,
}

/// A round, and with each copy of it a write that is under way.
#[derive(Debug)]
struct Round {
    state: State,
    /// By this handle.
    marked: Mutex<HashSet<Part>>,
    _under_way: oneshot::Sender<()>,
}

/// A write that was let in.
#[derive(Debug)]
#[must_use = "an answer counts only after it has left"]
pub(crate) struct Pass<'a> {
    gate: &'a Gate,
    round: Arc<Round>,
    breaks: u64,
}

/// Something that is written, until it is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay {
    _round: Arc<Round>,
}

impl Gate {
    pub(crate) async fn open(records: Arc<dyn Records>) -> Result<Arc<Self>, StoreError> {
        let sent = Instant::now();
        // Whoever begins a round after this is read waits for this handle.
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

    /// Lets a write in that may change these.
    pub(crate) async fn enter<I>(&self, parts: I) -> Result<Pass<'_>, StoreError>
    where
        I: IntoIterator<Item = Part> + Send,
    {
        let pass = self.pass().await?;
        match &pass.round.state.moving {
            Moving::Not | Moving::In { .. } => Ok(pass),
            Moving::Out { .. } => {
                pass.mark(parts).await?;
                Ok(pass)
            }
            moving @ (Moving::Held { .. } | Moving::Gone { .. }) => Err(refused(moving)),
        }
    }

    /// Lets somebody in who finishes what was left half done, which is not seen as a change by those who read it through the
    /// port. So it may be while writes are held.
    pub(crate) async fn enter_to_finish(&self) -> Result<Pass<'_>, StoreError> {
        let pass = self.pass().await?;
        match &pass.round.state.moving {
            moving @ Moving::Gone { .. } => Err(refused(moving)),
            _ => Ok(pass),
        }
    }

    /// Something is under way that does not end with whoever wanted it.
    pub(crate) fn begin(&self) -> UnderWay {
        UnderWay { _round: self.known().round.clone() }
    }

    /// Something is about to change on behalf of somebody who was let in, in this round or in one before.
    pub(crate) async fn change(&self, part: Part) -> Result<UnderWay, StoreError> {
        let round = self.known().round.clone();
        self.mark(&round, [part]).await?;
        Ok(UnderWay { _round: round })
    }

    /// Whether writes will ever be taken again.
    pub(crate) fn health(&self) -> Result<(), StoreError> {
        match self.known().round.state.moving {
            Moving::Gone { .. } => Err(StoreError::Stopped),
            _ => Ok(()),
        }
    }

    /// Finds out whether something has changed.
    pub(crate) async fn look(&self) -> Result<(), StoreError> {
        if !self.is_sure() {
            return self.make_sure().await;
        }
        self.learn(self.records.state().await?);
        Ok(())
    }

    /// Begins another round, if this is a later one.
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

    /// Says that this handle is there, again and again, until the future is dropped.
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

    /// Follows to each round that begins when all writes of earlier ones have ended, until the future is dropped.
    pub(crate) async fn follow(&self) {
        loop {
            self.begun.notified().await;
            let (round, ending) = {
                let mut known = self.known();
                (known.round.state.round, std::mem::take(&mut known.ending))
            };
            for ended in ending {
                // There is no answer but that nobody can give one any more.
                drop(ended.await);
            }
            self.reached.store(round, Ordering::Release);
            if let Err(error) = self.say().await {
                tracing::debug!(%error, round, "the cluster was not told that this server follows; it will be");
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

    /// The row was sent then, and has arrived. It is of no use when the one before may have ended.
    fn extend(&self, sent: Instant) {
        let mut known = self.known();
        if Instant::now() < known.sure_until {
            known.sure_until = known.sure_until.max(sent + SURE);
        }
    }

    /// First the row, then what is known: so whoever changes that later waits for this handle.
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
    /// More that is about to change.
    pub(crate) async fn mark<I>(&self, parts: I) -> Result<(), StoreError>
    where
        I: IntoIterator<Item = Part> + Send,
    {
        self.gate.mark(&self.round, parts).await
    }

    /// The answer, if it is certain that whoever has begun another round since has waited for it.
    pub(crate) async fn leave<T>(self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        let answer = answer?;
        if self.was_sure() {
            return Ok(answer);
        }
        self.gate.make_sure().await?;
        if self.gate.known().round.state.round == self.round.state.round {
            return Ok(answer);
        }
        Err(unavailable("write", "everything began to be moved, or went on to be, before it was done"))
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

fn refused(moving: &Moving) -> StoreError {
    unavailable("write", format!("the data {moving}"))
}
