//! Jobs: actions on their way into the log, with the callers that wait for them.

use std::time::Instant;

use godwit_protocol::UserId;

use super::action::{Action, Done};
use super::answer::Answer;
use super::measure;
use super::refusal::Refusal;
use crate::model::ClientId;

/// One action, and the callers that wait for its outcome.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) actor: UserId,
    pub(crate) action: Action,
    pub(crate) started: Instant,
    /// The first caller sent the message. The others are retries that arrived before it was stored.
    pub(crate) waiting: Vec<Answer>,
}

impl Job {
    /// Tells all callers that the action is durable.
    pub(super) fn acknowledge(self, done: Done) {
        let mut waiting = self.waiting.into_iter();
        let first = waiting.next();
        for answer in waiting {
            let again = Done { repeated: true, ..done.clone() };
            give(self.action.name(), self.started, answer, Ok(again));
        }
        if let Some(answer) = first {
            give(self.action.name(), self.started, answer, Ok(done));
        }
    }

    /// Tells all callers that the action was refused, or that its outcome is unknown.
    pub(super) fn refuse(self, refusal: &Refusal) {
        for answer in self.waiting {
            give(self.action.name(), self.started, answer, Err(refusal.clone()));
        }
    }

    /// The idempotency key of a send.
    pub(super) fn client_id(&self) -> Option<&ClientId> {
        match &self.action {
            Action::Send(message) => Some(&message.client_id),
            Action::Unsendable { client_id, .. } => Some(client_id),
            _ => None,
        }
    }
}

fn give(action: &str, started: Instant, answer: Answer, outcome: Result<Done, Refusal>) {
    measure::finished(action, started, &outcome);
    answer.give(outcome);
}

/// Jobs of one conversation that are decided and appended together. A batch owns each job until the job is answered.
#[derive(Debug, Default)]
pub(super) struct Batch(Vec<Job>);

impl Batch {
    pub(super) const fn new(jobs: Vec<Job>) -> Self {
        Self(jobs)
    }

    pub(super) fn jobs(&self) -> &[Job] {
        &self.0
    }

    /// Answers the jobs that have an outcome and keeps the others. `outcomes` has one item per job, in order.
    pub(super) fn answer(&mut self, outcomes: impl IntoIterator<Item = Option<Result<Done, Refusal>>>) {
        let jobs = std::mem::take(&mut self.0).into_iter();
        let left = jobs.zip(outcomes).filter_map(|(job, outcome)| match outcome {
            None => Some(job),
            Some(Ok(done)) => {
                job.acknowledge(done);
                None
            }
            Some(Err(refusal)) => {
                job.refuse(&refusal);
                None
            }
        });
        self.0 = left.collect();
    }

    /// Answers the jobs that are refused and keeps the others. Returns the accepted values, in order.
    pub(super) fn refuse_those<T>(&mut self, verdicts: Vec<Result<T, Refusal>>) -> Vec<T> {
        let mut accepted = Vec::with_capacity(verdicts.len());
        let outcomes = verdicts.into_iter().map(|verdict| match verdict {
            Ok(made) => {
                accepted.push(made);
                None
            }
            Err(refusal) => Some(Err(refusal)),
        });
        self.answer(outcomes);
        accepted
    }

    /// Answers all jobs with success. `done` has one item per job, in order.
    pub(super) fn acknowledge(self, done: impl IntoIterator<Item = Done>) {
        self.0.into_iter().zip(done).for_each(|(job, done)| job.acknowledge(done));
    }

    pub(super) fn refuse(self, refusal: &Refusal) {
        self.0.into_iter().for_each(|job| job.refuse(refusal));
    }

    /// Refuses the jobs that store something and keeps those that take something away. False, and nothing is refused, if the
    /// batch has only jobs of one sort.
    pub(super) fn refuse_what_stores(&mut self, refusal: &Refusal) -> bool {
        let taking_away = self.0.iter().filter(|job| job.action.takes_away()).count();
        let is_mixed = (1..self.0.len()).contains(&taking_away);
        if is_mixed {
            let jobs = std::mem::take(&mut self.0).into_iter();
            let (kept, refused) = jobs.partition(|job| job.action.takes_away());
            self.0 = kept;
            Self(refused).refuse(refusal);
        }
        is_mixed
    }
}
