//! Rounds: how everybody who has the keyspace open is made to follow a move, and how what has changed is given out.
//!
//! Marks are kept by the round in which they were made. When everybody has come to a later round those of the earlier ones
//! are complete, and all that they are about has been written. So they can be given out, and the same parts may be marked
//! again under the new round while they are copied.

use std::sync::Arc;
use std::time::Duration;

use godwit_domain::ports::{Changed, Moving, Part, StoreError};
use tokio::time::{Instant, sleep};

use super::gate::Gate;
use super::ledger::{Ledger, State};
use crate::cql::{Outcome, unavailable};
use crate::pause::pause;
use crate::servers::Present;

/// How long it may take until everybody follows: longer than a row lives of somebody who is not there any more.
const FOLLOW_MAX: Duration = Duration::from_secs(60);
/// Pauses between looks whether they do. The first ones are short.
const LOOK_PAUSE_MIN: Duration = Duration::from_millis(5);
const LOOK_PAUSE_MAX: Duration = Duration::from_millis(200);
/// How often a change is tried while others make changes.
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

    pub(crate) async fn moving(&self) -> Result<Moving, StoreError> {
        Ok(self.ledger.settled().await?.moving)
    }

    /// Also who finds it changed already knows afterwards that everybody follows.
    pub(crate) async fn set_moving(&self, from: &Moving, to: Moving) -> Result<Moving, StoreError> {
        let state = self.change(from, &to).await?;
        self.wait_for_all(&state).await?;
        if state.moving == Moving::Not {
            self.forget_marks(&state).await?;
        }
        Ok(state.moving)
    }

    async fn change(&self, from: &Moving, to: &Moving) -> Result<State, StoreError> {
        for attempt in 0..ATTEMPTS_MAX {
            pause(attempt).await;
            let found = self.ledger.settled().await?;
            if found.moving != *from {
                return Ok(found);
            }
            if found.moving == Moving::Not {
                // Who said so may have died before they did this.
                self.forget_marks(&found).await?;
            }
            let round = found.round + 1;
            let first = if found.keeps_marks() { found.first } else { round };
            let new = State { moving: to.clone(), round, first };
            if self.replace(&found, &new).await? {
                return Ok(new);
            }
        }
        Err(unavailable("change what is known of a move", "others do so all the time"))
    }

    /// Whether it is the new one now.
    async fn replace(&self, found: &State, new: &State) -> Result<bool, StoreError> {
        match self.ledger.replace(found, new).await {
            Outcome::Applied => Ok(true),
            Outcome::NotApplied => Ok(false),
            Outcome::Unknown(error) => {
                tracing::debug!(%error, "reading back what is known of a move");
                Ok(self.ledger.settled().await? == *new)
            }
        }
    }

    async fn forget_marks(&self, state: &State) -> Result<(), StoreError> {
        self.ledger.marks.forget(state.first..state.round).await
    }

    /// Waits until everybody who has the keyspace open has come to this round.
    async fn wait_for_all(&self, state: &State) -> Result<(), StoreError> {
        const OPERATION: &str = "wait for all who have the store open";
        self.gate.learn(state.clone());
        let (began, mut pause) = (Instant::now(), LOOK_PAUSE_MIN);
        loop {
            let behind = self.ledger.servers.all().await.map(|present| {
                let is_behind = |present: &Present| present.standing.round < state.round;
                present.into_iter().find(is_behind).map(|behind| format!("{behind} does not follow"))
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

    /// Parts of rounds that are over for everybody. If these are few, the current one is brought to its end.
    pub(crate) async fn changed(&self, limit: usize) -> Result<Changed, StoreError> {
        let found = self.ledger.settled().await?;
        if !found.keeps_marks() {
            return Ok(Changed::default());
        }
        // Whoever began this round may have died before everybody followed.
        self.wait_for_all(&found).await?;
        let marks = &self.ledger.marks;
        let (mut parts, first) = marks.within(found.first..found.round, limit).await?;
        if parts.len() >= limit || !marks.are_any(found.round).await? {
            return Ok(changed(parts, found.round - 1));
        }
        let new = State { round: found.round + 1, first: first.unwrap_or(found.round), ..found.clone() };
        if !self.replace(&found, &new).await? {
            return Err(unavailable("begin a round", "somebody else does so too"));
        }
        self.wait_for_all(&new).await?;
        let (more, _) = marks.within(found.round..new.round, limit).await?;
        parts.extend(more);
        Ok(changed(parts.into_iter().take(limit), found.round))
    }

    /// Marks of later rounds stay.
    pub(crate) async fn settled(&self, changed: Changed) -> Result<(), StoreError> {
        let first = self.ledger.settled().await?.first;
        self.ledger.marks.remove(first..changed.round + 1, &changed.parts).await
    }
}

fn changed(parts: impl IntoIterator<Item = Part>, round: u64) -> Changed {
    Changed { parts: parts.into_iter().collect(), round }
}
