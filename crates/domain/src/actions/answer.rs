//! Where the outcome of an action goes.

use std::fmt;

use tokio::sync::oneshot;

use super::action::Done;
use super::measure;
use super::refusal::Refusal;

type Give = Box<dyn FnOnce(Result<Done, Refusal>) + Send + Sync>;

/// Receives the outcome of an action, exactly once: dropping an answer reports that the outcome is unknown.
pub struct Answer(Option<Give>);

impl Answer {
    /// Calls `give` with the outcome, once. It must not block.
    pub fn new(give: impl FnOnce(Result<Done, Refusal>) + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(give)))
    }

    /// An answer together with the future that waits for it.
    pub fn awaited() -> (Self, impl Future<Output = Result<Done, Refusal>>) {
        let (sender, receiver) = oneshot::channel();
        // An error means that the caller no longer waits.
        let answer = Self::new(move |outcome| drop(sender.send(outcome)));
        (answer, async { receiver.await.unwrap_or_else(|_| Err(unknown())) })
    }

    pub(super) fn give(mut self, outcome: Result<Done, Refusal>) {
        if let Some(give) = self.0.take() {
            give(outcome);
        }
    }

    /// Refuses an action that never entered a queue.
    pub(super) fn refuse(self, action: &str, refusal: Refusal) {
        measure::refused(action, &refusal);
        self.give(Err(refusal));
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(give) = self.0.take() {
            give(Err(unknown()));
        }
    }
}

fn unknown() -> Refusal {
    Refusal::Interrupted("its task ended early".into())
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Answer").finish_non_exhaustive()
    }
}
