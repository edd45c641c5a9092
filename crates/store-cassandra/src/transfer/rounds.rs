//! Rounds: makes every store handle follow the state of a transfer, and returns the changed parts.
//!
//! Marks are stored by the round in which they were made. When every handle has reached a later round, the
//! marks of the earlier ones are complete, and all changes that they mark have been written. So these parts can
//! be copied, and meanwhile the same parts may be marked again under the new round.

use std::sync::Arc;
use std::time::Duration;

use godwit_domain::ports::{Changed, Part, StoreError, TransferState};
use tokio::time::{Instant, sleep};

use super::gate::Gate;
use super::ledger::{Ledger, State};
use crate::cql::{Outcome, unavailable};
use crate::pause::pause;
use crate::servers::Present;

/// How long a round waits for every handle to follow. Longer than the time to live of a dead handle's row.
const FOLLOW_MAX: Duration = Duration::from_secs(60);
/// Pauses between reads of the rows. The first pauses are short.
const LOOK_PAUSE_MIN: Duration = Duration::from_millis(5);
const LOOK_PAUSE_MAX: Duration = Duration::from_millis(200);
/// Attempts of a change while other processes make changes.
const ATTEMPTS_MAX: u32 = 16;

#[derive(Debug)]
pub(crate) struct Rounds {
    pub(super) ledger: Arc<Ledger>,
    gate: Arc<Gate>,
}

impl Rounds {
    pub(crate) const fn new(ledger: Arc<Ledger>, gate: Arc<Gate>) -> Self {
        Self { ledger, gate }
    }

    pub(crate) async fn transfer_state(&self) -> Result<TransferState, StoreError> {
        Ok(self.ledger.settled().await?.transfer)
    }

    /// Changes the state from `from` to `to` and returns the state after it. Even if another process has
    /// changed the state, all handles follow it when this returns.
    pub(crate) async fn set_transfer_state(
        &self,
        from: &TransferState,
        to: TransferState,
    ) -> Result<TransferState, StoreError> {
        let state = self.change(from, &to).await?;
        self.wait_for_all(&state).await?;
        if state.transfer == TransferState::Not {
            self.forget_marks(&state).await?;
        }
        Ok(state.transfer)
    }

    async fn change(&self, from: &TransferState, to: &TransferState) -> Result<State, StoreError> {
        for attempt in 0..ATTEMPTS_MAX {
            pause(attempt).await;
            let found = self.ledger.settled().await?;
            if found.transfer != *from {
                return Ok(found);
            }
            if found.transfer == TransferState::Not {
                // The process that set this state may have crashed before it removed the marks.
                self.forget_marks(&found).await?;
            }
            let round = found.round + 1;
            let first = if found.keeps_marks() { found.first } else { round };
            let new = State { transfer: to.clone(), round, first };
            if self.replace(&found, &new).await? {
                return Ok(new);
            }
        }
        Err(unavailable("change the transfer state", "other processes keep changing it"))
    }

    /// Replaces the state. Returns whether the new one is stored.
    async fn replace(&self, found: &State, new: &State) -> Result<bool, StoreError> {
        match self.ledger.replace(found, new).await {
            Outcome::Applied => Ok(true),
            Outcome::NotApplied => Ok(false),
            Outcome::Unknown(error) => {
                tracing::debug!(%error, "reading back the state of a transfer");
                Ok(self.ledger.settled().await? == *new)
            }
        }
    }

    async fn forget_marks(&self, state: &State) -> Result<(), StoreError> {
        self.ledger.marks.forget(state.first..state.round).await
    }

    /// Waits until every process that has the keyspace open has reached this round.
    async fn wait_for_all(&self, state: &State) -> Result<(), StoreError> {
        const OPERATION: &str = "wait for all servers to follow the transfer";
        self.gate.learn(state.clone());
        let (began, mut pause) = (Instant::now(), LOOK_PAUSE_MIN);
        loop {
            let behind = self.ledger.servers.all().await.map(|present| {
                let is_behind = |present: &Present| present.standing.round < state.round;
                present.into_iter().find(is_behind).map(|behind| format!("{behind} does not respond"))
            });
            let is_over = began.elapsed() > FOLLOW_MAX;
            match behind {
                Ok(None) => return Ok(()),
                Ok(Some(reason)) if is_over => return Err(unavailable(OPERATION, reason)),
                Err(error) if is_over => return Err(error),
                Ok(Some(_)) | Err(_) => sleep(pause).await,
            }
            pause = (pause * 2).min(LOOK_PAUSE_MAX);
        }
    }

    /// Parts marked in completed rounds. If there are fewer than `limit`, the present round is completed too.
    pub(crate) async fn changed(&self, limit: usize) -> Result<Changed, StoreError> {
        let found = self.ledger.settled().await?;
        if !found.keeps_marks() {
            return Ok(Changed::default());
        }
        // The process that began this round may have crashed before all handles followed.
        self.wait_for_all(&found).await?;
        let marks = &self.ledger.marks;
        let (mut parts, first) = marks.within(found.first..found.round, limit).await?;
        if parts.len() >= limit || !marks.are_any(found.round).await? {
            return Ok(changed(parts, found.round - 1));
        }
        let new = State { round: found.round + 1, first: first.unwrap_or(found.round), ..found.clone() };
        if !self.replace(&found, &new).await? {
            return Err(unavailable("begin a transfer round", "another process began one at the same time"));
        }
        self.wait_for_all(&new).await?;
        let (more, _) = marks.within(found.round..new.round, limit).await?;
        parts.extend(more);
        Ok(changed(parts.into_iter().take(limit), found.round))
    }

    /// Removes the marks of copied parts. Marks of later rounds stay.
    pub(crate) async fn settled(&self, changed: Changed) -> Result<(), StoreError> {
        let first = self.ledger.settled().await?.first;
        self.ledger.marks.remove(first..changed.round + 1, &changed.parts).await
    }
}

fn changed(parts: impl IntoIterator<Item = Part>, round: u64) -> Changed {
    Changed { parts: parts.into_iter().collect(), round }
}
