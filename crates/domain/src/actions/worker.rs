//! The worker: one task per conversation with waiting actions.
//!
//! The task outlives the caller that started it, so that a started action always finishes.

use std::sync::Arc;
use std::time::Duration;

use super::action::Action;
use super::append::Appending;
use super::job::{Batch, Job};
use super::measure;
use super::queue::Next;
use crate::conversations::Live;
use crate::model::ConversationState;

/// How long reactions are held back in large conversations, so that they cannot flood the log.
const REACTIONS_GATHERED: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Worker {
    appending: Arc<Appending>,
}

impl Worker {
    pub(super) fn new(appending: Appending) -> Self {
        Self { appending: Arc::new(appending) }
    }

    /// Adds a job to the queue of its conversation.
    pub(super) fn enqueue(&self, live: Arc<Live>, job: Job) {
        let is_held_back =
            matches!(job.action, Action::React { .. }) && !live.read(ConversationState::is_whole);
        if is_held_back {
            self.hold_back(live, job);
        } else if live.queue.push(job) == Next::StartDraining {
            tokio::spawn(drain(self.appending.clone(), live));
        }
    }

    fn hold_back(&self, live: Arc<Live>, job: Job) {
        if live.queue.gather(job) {
            let appending = self.appending.clone();
            tokio::spawn(async move {
                tokio::time::sleep(REACTIONS_GATHERED).await;
                if live.queue.release() == Next::StartDraining {
                    drain(appending, live).await;
                }
            });
        }
    }
}

async fn drain(appending: Arc<Appending>, live: Arc<Live>) {
    let _abandon = AbandonOnPanic(&live);
    while let Some(jobs) = live.queue.take_batch() {
        measure::append(jobs.len());
        appending.append(&live, Batch::new(jobs)).await;
    }
}

/// Abandons the queue if a batch panics, so that the conversation does not get stuck.
struct AbandonOnPanic<'a>(&'a Live);

impl Drop for AbandonOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.queue.abandon();
        }
    }
}
