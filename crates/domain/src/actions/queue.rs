//! The queue of one conversation: actions that wait to be appended.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use godwit_protocol::UserId;
use tokio::sync::oneshot;

use super::action::Action;
use super::job::Job;
use super::refusal::Refusal;
use crate::model::{ClientId, count_within};

/// Waiting actions of one conversation. Above this, an action is refused (backpressure).
pub(crate) const ACTIONS_WAITING_MAX: usize = 4_096;
/// Actions per append. Reactions do not count: all reactions to one message become one entry.
pub(crate) const APPEND_ACTIONS_MAX: usize = 256;
/// Content of the messages in one append, in bytes; an append always has at least one message. The entries of an append are
/// delivered together, and must fit into the send queue of a socket that keeps up.
pub(crate) const APPEND_BYTES_MAX: usize = 128 * 1024;

/// A queue that is emptied in batches by one task at a time.
#[derive(Debug, Default)]
pub(crate) struct ActionQueue {
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: Vec<Job>,
    /// Reactions that are held back, so that one entry can take more of them.
    gathered: Vec<Job>,
    /// Callers of [`ActionQueue::settle`], who wait for the current batch to finish.
    settling: Vec<oneshot::Sender<()>>,
    /// Whether a task is draining the queue.
    draining: bool,
}

/// The next step of a caller who has added a job to the queue.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// No task is draining the queue: start one that takes batches until the queue is empty.
    StartDraining,
    Wait,
}

impl ActionQueue {
    /// Appends a job to the queue, or refuses it if the queue is full.
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

    /// Holds a job back until [`ActionQueue::release`]. Returns true for the first one: its caller must release the jobs.
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

    /// Moves the jobs that were held back into the queue.
    pub(crate) fn release(&self) -> Next {
        let mut queue = self.lock();
        let gathered = std::mem::take(&mut queue.gathered);
        if gathered.is_empty() {
            return Next::Wait;
        }
        queue.jobs.extend(gathered);
        queue.next()
    }

    /// The next batch, with each message once. After `None` the task must end: the next push starts another one.
    pub(crate) fn take_batch(&self) -> Option<Vec<Job>> {
        let mut queue = self.lock();
        for settled in queue.settling.drain(..) {
            // An error means that the caller no longer waits.
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

    /// Returns when the batch that is in progress at the time of the call has finished.
    pub(crate) async fn settle(&self) {
        let (settled, wait) = oneshot::channel();
        {
            let mut queue = self.lock();
            if !queue.draining {
                return;
            }
            queue.settling.push(settled);
        }
        // An error means that the task has ended, and its batch with it.
        let _ = wait.await;
    }

    /// Drops all waiting jobs. Their senders are told that the outcome is unknown.
    pub(crate) fn abandon(&self) {
        // Dropped after the lock is released: dropping an answer runs the code of its caller.
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

/// Merges sends of the same message that arrived together into one job with several waiting callers.
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
    use std::time::Instant;

    use futures_util::FutureExt;
    use godwit_protocol::{MessageId, Seq};

    use super::*;
    use crate::actions::{Answer, NewMessage};
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
    fn only_one_task_at_a_time_drains_the_queue() {
        let queue = ActionQueue::default();
        assert_eq!(queue.push(job(1, "a")), Next::StartDraining);
        assert_eq!(queue.push(job(1, "b")), Next::Wait);
        assert_eq!(queue.take_batch().unwrap().len(), 2);
        assert_eq!(queue.push(job(1, "c")), Next::Wait);
        assert_eq!(queue.take_batch().unwrap().len(), 1);
        assert!(queue.take_batch().is_none());
        assert_eq!(queue.push(job(1, "d")), Next::StartDraining);
    }

    #[test]
    fn repeated_sends_of_one_sender_are_merged_into_one_job() {
        let queue = ActionQueue::default();
        for (sender, client_id) in [(1, "a"), (2, "a"), (1, "a"), (1, "b")] {
            queue.push(job(sender, client_id));
        }
        let waiting: Vec<usize> = queue.take_batch().unwrap().iter().map(|j| j.waiting.len()).collect();
        assert_eq!(waiting, [2, 1, 1]);
    }

    #[test]
    fn the_queue_and_its_batches_are_bounded() {
        let queue = ActionQueue::default();
        for number in 0..ACTIONS_WAITING_MAX {
            queue.push(job(1, &format!("m{number}")));
        }
        let (answer, outcome) = Answer::awaited();
        queue.push(Job { waiting: vec![answer], ..job(1, "one-too-many") });
        assert!(matches!(outcome.now_or_never(), Some(Err(Refusal::Busy))));
        assert_eq!(queue.take_batch().unwrap().len(), APPEND_ACTIONS_MAX);
    }

    #[test]
    fn a_batch_of_large_messages_is_shorter() {
        let queue = ActionQueue::default();
        for number in 0..3 {
            queue.push(send(1, &format!("m{number}"), &"x".repeat(APPEND_BYTES_MAX / 2)));
        }
        queue.push(send(1, "huge", &"x".repeat(APPEND_BYTES_MAX + 1)));
        let batches: Vec<usize> =
            std::iter::from_fn(|| queue.take_batch()).map(|batch| batch.len()).collect();
        assert_eq!(batches, [2, 1, 1]);
    }

    #[test]
    fn gathered_reactions_share_a_batch_and_do_not_fill_it() {
        let queue = ActionQueue::default();
        assert!(queue.gather(react(1)));
        for user in 2..=2_000 {
            assert!(!queue.gather(react(user)));
        }
        assert!(queue.take_batch().is_none());
        assert_eq!(queue.release(), Next::StartDraining);
        assert_eq!(queue.take_batch().unwrap().len(), 2_000);
        assert_eq!(queue.release(), Next::Wait);
    }

    #[tokio::test]
    async fn settling_waits_for_the_current_batch_only() {
        let queue = Arc::new(ActionQueue::default());
        queue.settle().await;
        queue.push(job(1, "a"));
        queue.take_batch().unwrap();
        let settling = tokio::spawn({
            let queue = queue.clone();
            async move { queue.settle().await }
        });
        tokio::task::yield_now().await;
        assert!(!settling.is_finished());
        queue.push(job(1, "b"));
        assert_eq!(queue.take_batch().unwrap().len(), 1);
        settling.await.unwrap();
    }
}
