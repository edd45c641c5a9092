//! Appends a batch to the log: the compare-and-set loop.

use std::sync::Arc;

use godwit_protocol::Seq;

use super::action::Done;
use super::decision::{Decision, Terms};
use super::deliver::{Appended, Delivering};
use super::job::{Batch, Job};
use super::measure;
use super::prepare::{Known, Prepared, Preparing};
use super::refusal::Refusal;
use super::repeat::Repeats;
use super::rules::MessagePolicy;
use crate::conversations::{Conversations, Live};
use crate::ports::{Append, AppendOutcome, Clock, Store, StoreError};

/// Attempts to append a batch before its senders learn that other nodes were faster.
const APPEND_ATTEMPTS_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct Appending {
    pub(super) store: Arc<dyn Store>,
    pub(super) conversations: Arc<Conversations>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) policy: MessagePolicy,
    pub(super) preparing: Preparing,
    pub(super) repeats: Repeats,
    pub(super) delivering: Delivering,
}

/// The result of one attempt.
enum Attempt {
    /// Every job of the batch has an answer.
    Answered,
    /// Another node has appended. The remaining jobs must be decided again.
    HeadMoved,
}

impl Appending {
    /// Appends a batch to the log, with retries if other nodes are faster, and answers every job.
    pub(super) async fn append(&self, live: &Live, mut batch: Batch) {
        for _ in 0..APPEND_ATTEMPTS_MAX {
            match self.attempt(live, &mut batch).await {
                Ok(Attempt::Answered) => return,
                Ok(Attempt::HeadMoved) => measure::append_conflict(),
                // What needs room must not keep people from making some.
                Err(StoreError::Full) if batch.refuse_what_stores(&StoreError::Full.into()) => {}
                Err(error) => return self.fail(live, batch, error).await,
            }
            if let Err(error) = self.conversations.reload(live).await {
                return batch.refuse(&error.into());
            }
        }
        batch.refuse(&Refusal::Interrupted("other servers kept appending first".into()));
    }

    /// Prepares, decides, appends and delivers the batch. Jobs that need no append are answered in any case.
    async fn attempt(&self, live: &Live, batch: &mut Batch) -> Result<Attempt, StoreError> {
        let head = live.read(|state| state.head.seq);
        // The last read before the append. A caller that changes a fact on which decisions depend, and then waits for the
        // queue to settle, can rely on this.
        let Prepared { originals, known, hidden_from } = self.preparing.prepare(live, batch.jobs()).await?;
        self.repeats.answer(live, batch, originals, &known).await;
        let Some(decision) = self.decide(live, head, batch.jobs(), known) else {
            return Ok(Attempt::HeadMoved);
        };
        let Decision { verdicts, entries, effects, referred } = decision;
        let made = batch.refuse_those(verdicts);
        if entries.is_empty() {
            std::mem::take(batch).acknowledge(std::iter::repeat_with(Done::nothing));
            return Ok(Attempt::Answered);
        }
        let append = Append { conversation: live.id(), expected_head: head, entries, effects };
        let notes = match self.store.append(&append).await {
            Ok(AppendOutcome::Appended(notes)) => notes,
            Ok(AppendOutcome::HeadMoved) => return Ok(Attempt::HeadMoved),
            // The notes for accounts are lost here; devices get them from their next `sync`.
            Err(error) if self.is_there_after(live, &append, &error).await => Vec::new(),
            Err(error) => return Err(error),
        };
        let appended = Appended { append, made, referred, hidden_from, notes };
        self.delivering.deliver(live, appended, std::mem::take(batch)).await;
        Ok(Attempt::Answered)
    }

    /// `None` if the head has moved since the batch was prepared.
    fn decide(&self, live: &Live, head: Seq, jobs: &[Job], known: Known) -> Option<Decision> {
        let terms = Terms { policy: &self.policy, now: self.clock.now(), ids: self.store.ids() };
        live.read(|state| (state.head.seq == head).then(|| Decision::of(jobs, state, known, &terms)))
    }

    /// Checks whether an append is in the log although the store could not confirm it. If so, it is acknowledged and
    /// delivered like any other: no other node delivers it, and a retry only returns the original.
    async fn is_there_after(&self, live: &Live, append: &Append, error: &StoreError) -> bool {
        if !matches!(error, StoreError::Unavailable { .. }) {
            return false;
        }
        tracing::debug!(conversation = %live.id(), %error, "an append got no answer; reading it back");
        let first = &append.entries[0];
        // The order matters: after the conversation has been loaded, the log has either all entries with all their effects,
        // or none.
        let found = async {
            self.conversations.reload(live).await?;
            self.store.items(live.id(), &[first.seq]).await
        };
        let found = found.await.ok().and_then(|mut items| items.pop().flatten());
        found.is_some_and(|item| item.entry.id == first.id)
    }

    async fn fail(&self, live: &Live, batch: Batch, error: StoreError) {
        // The store says once that it is full.
        if !matches!(error, StoreError::Full) {
            tracing::warn!(conversation = %live.id(), %error, "append failed");
        }
        batch.refuse(&error.into());
        // The state of the store is uncertain: reload before the next append.
        if let Err(error) = self.conversations.reload(live).await {
            tracing::warn!(conversation = %live.id(), %error, "reload failed");
        }
    }
}
