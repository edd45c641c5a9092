//! The sends of one conversation that wait to be appended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use godwit_protocol::{MessageId, UserId};
use tokio::sync::oneshot;

use super::sending::{SendError, Sent};
use crate::model::{ClientId, Forwarded, MessageBody, count_within};

/// Sends of one conversation that wait to be appended. A further one is refused.
pub(crate) const SENDS_WAITING_MAX: usize = 4_096;
/// Messages in one append.
pub(crate) const APPEND_MESSAGES_MAX: usize = 256;
/// Content of the messages in one append, in bytes; one message it always has. What is appended together is delivered
/// together, and must not be too much for the queue of a socket whose client reads well.
pub(crate) const APPEND_BYTES_MAX: usize = 128 * 1024;

pub(crate) type Answer = oneshot::Sender<Result<Sent, SendError>>;

/// A message on its way into the log, and who waits for it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) sender: UserId,
    pub(crate) client_id: ClientId,
    pub(crate) body: MessageBody,
    pub(crate) reply_to: Option<MessageId>,
    pub(crate) forwarded_from: Option<Forwarded>,
    /// The first of them sent it; the others sent it again before it was stored.
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
    pub(crate) fn push(&self, job: Job) -> Result<Next, SendError> {
        let mut queue = self.lock();
        if queue.jobs.len() >= SENDS_WAITING_MAX {
            return Err(SendError::Busy);
        }
        queue.jobs.push(job);
        let was_draining = std::mem::replace(&mut queue.draining, true);
        Ok(if was_draining { Next::Wait } else { Next::StartDraining })
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
        let count =
            count_within(APPEND_BYTES_MAX, &queue.jobs, |job| job.body.size_bytes()).min(APPEND_MESSAGES_MAX);
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
        *self.lock() = Queue::default();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    /// Tells all who wait that the message is stored.
    pub(crate) fn acknowledge(self, sent: &Sent) {
        for (position, answer) in self.waiting.into_iter().enumerate() {
            let repeated = sent.repeated || position > 0;
            // Who no longer waits need not be told.
            let _ = answer.send(Ok(Sent { message: sent.message.clone(), repeated }));
        }
    }

    /// Tells all who wait that the message was not stored, or that it is unknown.
    pub(crate) fn refuse(self, error: impl Fn() -> SendError) {
        for answer in self.waiting {
            let _ = answer.send(Err(error()));
        }
    }

    pub(crate) fn fail(self, reason: &Arc<str>) {
        self.refuse(|| SendError::Unavailable(reason.clone()));
    }
}

/// Sends of the same message that arrived together become one job with several who wait.
fn merge_repeated(batch: Vec<Job>) -> Vec<Job> {
    let mut positions: HashMap<(UserId, ClientId), usize> = HashMap::with_capacity(batch.len());
    let mut merged: Vec<Job> = Vec::with_capacity(batch.len());
    for job in batch {
        match positions.get(&(job.sender, job.client_id.clone())) {
            Some(&first) => merged[first].waiting.extend(job.waiting),
            None => {
                positions.insert((job.sender, job.client_id.clone()), merged.len());
                merged.push(job);
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(sender: u64, client_id: &str) -> Job {
        Job {
            sender: UserId::new(sender),
            client_id: ClientId::parse(client_id).unwrap(),
            body: MessageBody::Text("hi".into()),
            reply_to: None,
            forwarded_from: None,
            waiting: vec![oneshot::channel().0],
        }
    }

    #[test]
    fn one_task_at_a_time_is_told_to_drain() {
        let outbox = Outbox::default();
        assert_eq!(outbox.push(job(1, "a")).unwrap(), Next::StartDraining);
        assert_eq!(outbox.push(job(1, "b")).unwrap(), Next::Wait);
        assert_eq!(outbox.take_batch().unwrap().len(), 2);
        assert_eq!(outbox.push(job(1, "c")).unwrap(), Next::Wait);
        assert_eq!(outbox.take_batch().unwrap().len(), 1);
        assert!(outbox.take_batch().is_none());
        assert_eq!(outbox.push(job(1, "d")).unwrap(), Next::StartDraining);
    }

    #[test]
    fn the_same_message_twice_is_one_job_and_another_sender_is_another() {
        let outbox = Outbox::default();
        for (sender, client_id) in [(1, "a"), (2, "a"), (1, "a"), (1, "b")] {
            outbox.push(job(sender, client_id)).unwrap();
        }
        let waiting: Vec<usize> = outbox.take_batch().unwrap().iter().map(|j| j.waiting.len()).collect();
        assert_eq!(waiting, [2, 1, 1]);
    }

    #[test]
    fn the_queue_and_its_batches_are_bounded() {
        let outbox = Outbox::default();
        for number in 0..SENDS_WAITING_MAX {
            outbox.push(job(1, &format!("m{number}"))).unwrap();
        }
        assert!(outbox.push(job(1, "one-too-many")).is_err());
        assert_eq!(outbox.take_batch().unwrap().len(), APPEND_MESSAGES_MAX);
    }

    #[test]
    fn a_batch_of_large_messages_is_shorter() {
        let outbox = Outbox::default();
        for number in 0..3 {
            let large = MessageBody::Text("x".repeat(APPEND_BYTES_MAX / 2).into());
            outbox.push(Job { body: large, ..job(1, &format!("m{number}")) }).unwrap();
        }
        let huge = MessageBody::Text("x".repeat(APPEND_BYTES_MAX + 1).into());
        outbox.push(Job { body: huge, ..job(1, "huge") }).unwrap();
        let batches: Vec<usize> =
            std::iter::from_fn(|| outbox.take_batch()).map(|batch| batch.len()).collect();
        assert_eq!(batches, [2, 1, 1]);
    }

    #[tokio::test]
    async fn settling_waits_for_the_batch_under_way_and_not_for_those_after_it() {
        let outbox = Arc::new(Outbox::default());
        outbox.settle().await;
        outbox.push(job(1, "a")).unwrap();
        outbox.take_batch().unwrap();
        let settling = tokio::spawn({
            let outbox = outbox.clone();
            async move { outbox.settle().await }
        });
        tokio::task::yield_now().await;
        assert!(!settling.is_finished());
        outbox.push(job(1, "b")).unwrap();
        assert_eq!(outbox.take_batch().unwrap().len(), 1);
        settling.await.unwrap();
    }
}
