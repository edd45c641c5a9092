//! The actions of one conversation that wait to be appended.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use godwit_protocol::UserId;
use tokio::sync::oneshot;

use super::action::{Action, Done, Refusal};
use super::answer::Answer;
use super::measure;
use crate::model::{ClientId, count_within};

/// Actions of one conversation that wait to be appended. A further one is refused.
pub(crate) const ACTIONS_WAITING_MAX: usize = 4_096;
/// Actions in one append. Reactions do not count: those to one message are one entry.
pub(crate) const APPEND_ACTIONS_MAX: usize = 256;
/// Content of the messages in one append, in bytes; one message it always has. What is appended together is delivered
/// together, and must not be too much for the queue of a socket whose client reads well.
pub(crate) const APPEND_BYTES_MAX: usize = 128 * 1024;

/// An action on its way into the log, and who waits for it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) actor: UserId,
    pub(crate) action: Action,
    pub(crate) started: Instant,
    /// The first of them sent it; the others sent the same message again before it was stored.
    pub(crate) waiting: Vec<Answer>,
}

/// A queue that is emptied in batches by one task at a time.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: Vec<Job>,
    /// Jobs that wait for others of their kind before they are put into the queue.
    gathered: Vec<Job>,
    /// Those who wait until what is under way now is finished.
    settling: Vec<oneshot::Sender<()>>,
    /// Whether a task is emptying the queue.
    draining: bool,
}

/// What the caller has to do after it put a job into the queue.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nobody is at work: start a task that takes batches until there are none.
    StartDraining,
    Wait,
}

impl Outbox {
    /// A job for which there is no room is refused.
    pub(crate) fn push(&self, job: Job) -> Next {
        let mut queue = self.lock();
        if queue.has_room() {
            queue.jobs.push(job);
            return queue.next();
        }
        drop(queue);
        job.refuse(&Refusal::Busy);
        Next::Wait
    }

    /// Keeps a job until [`Outbox::release`]. True for the first one: somebody has to release them.
    pub(crate) fn gather(&self, job: Job) -> bool {
        let mut queue = self.lock();
        if queue.has_room() {
            queue.gathered.push(job);
            return queue.gathered.len() == 1;
        }
        drop(queue);
        job.refuse(&Refusal::Busy);
        false
    }

    /// Puts the gathered jobs into the queue.
    pub(crate) fn release(&self) -> Next {
        let mut queue = self.lock();
        let gathered = std::mem::take(&mut queue.gathered);
        if gathered.is_empty() {
            return Next::Wait;
        }
        queue.jobs.extend(gathered);
        queue.next()
    }

    /// The next batch, each message once. After `None` the task must end: the next push starts another.
    pub(crate) fn take_batch(&self) -> Option<Vec<Job>> {
        let mut queue = self.lock();
        for settled in queue.settling.drain(..) {
            // Who no longer waits need not be told.
            let _ = settled.send(());
        }
        if queue.jobs.is_empty() {
            queue.draining = false;
            return None;
        }
        let within = count_within(APPEND_BYTES_MAX, &queue.jobs, |job| job.action.size_bytes());
        let counted = |job: &&Job| !matches!(job.action, Action::React { .. });
        let past = queue.jobs.iter().enumerate().filter(|(_, job)| counted(job)).nth(APPEND_ACTIONS_MAX);
        let count = past.map_or(queue.jobs.len(), |(place, _)| place).min(within);
        let batch = queue.jobs.drain(..count).collect();
        drop(queue);
        Some(merge_repeated(batch))
    }

    /// Returns when the batch that is under way now is finished.
    pub(crate) async fn settle(&self) {
        let (settled, wait) = oneshot::channel();
        {
            let mut queue = self.lock();
            if !queue.draining {
                return;
            }
            queue.settling.push(settled);
        }
        // An error means that the draining task is gone, and with it what was under way.
        let _ = wait.await;
    }

    /// Lets go of everything that waits. Its senders are told that the outcome is unknown.
    pub(crate) fn abandon(&self) {
        // Dropped after the lock: whoever waits is told by it.
        let _abandoned = std::mem::take(&mut *self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn has_room(&self) -> bool {
        self.jobs.len() + self.gathered.len() < ACTIONS_WAITING_MAX
    }

    fn next(&mut self) -> Next {
        if std::mem::replace(&mut self.draining, true) { Next::Wait } else { Next::StartDraining }
    }
}

impl Job {
    /// Tells all who wait that it is done.
    pub(crate) fn acknowledge(self, done: Done) {
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

    /// Tells all who wait that it was not done, or that it is unknown.
    pub(crate) fn refuse(self, refusal: &Refusal) {
        for answer in self.waiting {
            give(self.action.name(), self.started, answer, Err(refusal.clone()));
        }
    }

    /// Who wants to react, and how.
    pub(crate) fn reaction(&self) -> Option<(UserId, Option<Box<str>>)> {
        match &self.action {
            Action::React { reaction, .. } => Some((self.actor, reaction.clone())),
            _ => None,
        }
    }

    fn client_id(&self) -> Option<&ClientId> {
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

/// Sends of the same message that arrived together become one job with several who wait.
fn merge_repeated(batch: Vec<Job>) -> Vec<Job> {
    if batch.len() == 1 {
        return batch;
    }
    let mut positions: HashMap<(UserId, ClientId), usize> = HashMap::with_capacity(batch.len());
    let mut merged: Vec<Job> = Vec::with_capacity(batch.len());
    for job in batch {
        let Some(client_id) = job.client_id().cloned() else {
            merged.push(job);
            continue;
        };
        match positions.get(&(job.actor, client_id.clone())) {
            Some(&first) => merged[first].waiting.extend(job.waiting),
            None => {
                positions.insert((job.actor, client_id), merged.len());
                merged.push(job);
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use godwit_protocol::{MessageId, Seq};

    use super::*;
    use crate::actions::NewMessage;
    use crate::model::{Mentions, MessageBody, Target};

    fn job_of(actor: u64, action: Action) -> Job {
        let waiting = vec![Answer::new(drop)];
        Job { actor: UserId::new(actor), action, started: Instant::now(), waiting }
    }

    fn send(sender: u64, client_id: &str, text: &str) -> Job {
        let message = NewMessage {
            client_id: ClientId::parse(client_id).unwrap(),
            body: MessageBody::Text(text.into()),
            reply: None,
            forwarded_from: None,
            mentions: Mentions::default(),
        };
        let action = Action::Send(Box::new(message));
        job_of(sender, action)
    }

    fn job(sender: u64, client_id: &str) -> Job {
        send(sender, client_id, "hi")
    }

    fn react(user: u64) -> Job {
        let target = Target { id: MessageId::new(1), seq: Seq::new(1) };
        let action = Action::React { target, reaction: Some("+".into()) };
        job_of(user, action)
    }

    #[test]
    fn one_task_at_a_time_is_told_to_drain() {
        let outbox = Outbox::default();
        assert_eq!(outbox.push(job(1, "a")), Next::StartDraining);
        assert_eq!(outbox.push(job(1, "b")), Next::Wait);
        assert_eq!(outbox.take_batch().unwrap().len(), 2);
        assert_eq!(outbox.push(job(1, "c")), Next::Wait);
        assert_eq!(outbox.take_batch().unwrap().len(), 1);
        assert!(outbox.take_batch().is_none());
        assert_eq!(outbox.push(job(1, "d")), Next::StartDraining);
    }

    #[test]
    fn the_same_message_twice_is_one_job_and_another_sender_is_another() {
        let outbox = Outbox::default();
        for (sender, client_id) in [(1, "a"), (2, "a"), (1, "a"), (1, "b")] {
            outbox.push(job(sender, client_id));
        }
        let waiting: Vec<usize> = outbox.take_batch().unwrap().iter().map(|j| j.waiting.len()).collect();
        assert_eq!(waiting, [2, 1, 1]);
    }

    #[test]
    fn the_queue_and_its_batches_are_bounded() {
        let outbox = Outbox::default();
        for number in 0..ACTIONS_WAITING_MAX {
            outbox.push(job(1, &format!("m{number}")));
        }
        let (answer, outcome) = Answer::awaited();
        outbox.push(Job { waiting: vec![answer], ..job(1, "one-too-many") });
        assert!(matches!(outcome.now_or_never(), Some(Err(Refusal::Busy))));
        assert_eq!(outbox.take_batch().unwrap().len(), APPEND_ACTIONS_MAX);
    }

    #[test]
    fn a_batch_of_large_messages_is_shorter() {
        let outbox = Outbox::default();
        for number in 0..3 {
            outbox.push(send(1, &format!("m{number}"), &"x".repeat(APPEND_BYTES_MAX / 2)));
        }
        outbox.push(send(1, "huge", &"x".repeat(APPEND_BYTES_MAX + 1)));
        let batches: Vec<usize> =
            std::iter::from_fn(|| outbox.take_batch()).map(|batch| batch.len()).collect();
        assert_eq!(batches, [2, 1, 1]);
    }

    #[test]
    fn gathered_reactions_come_together_and_fill_no_batch() {
        let outbox = Outbox::default();
        assert!(outbox.gather(react(1)));
        for user in 2..=2_000 {
            assert!(!outbox.gather(react(user)));
        }
        assert!(outbox.take_batch().is_none());
        assert_eq!(outbox.release(), Next::StartDraining);
        assert_eq!(outbox.take_batch().unwrap().len(), 2_000);
        assert_eq!(outbox.release(), Next::Wait);
    }

    #[tokio::test]
    async fn settling_waits_for_the_batch_under_way_and_not_for_those_after_it() {
        let outbox = Arc::new(Outbox::default());
        outbox.settle().await;
        outbox.push(job(1, "a"));
        outbox.take_batch().unwrap();
        let settling = tokio::spawn({
            let outbox = outbox.clone();
            async move { outbox.settle().await }
        });
        tokio::task::yield_now().await;
        assert!(!settling.is_finished());
        outbox.push(job(1, "b"));
        assert_eq!(outbox.take_batch().unwrap().len(), 1);
        settling.await.unwrap();
    }
}
