//! Who waits for an action.

use std::fmt;

use tokio::sync::oneshot;

use super::action::{Done, Refusal};

type Give = Box<dyn FnOnce(Result<Done, Refusal>) + Send + Sync>;

/// Where the outcome of an action goes. It always gets one: if it is dropped, that the outcome is unknown.
pub struct Answer(Option<Give>);

impl Answer {
    /// Called once, by whoever knows the outcome: it must not block.
    pub fn new(give: impl FnOnce(Result<Done, Refusal>) + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(give)))
    }

    /// One to wait for.
    pub fn awaited() -> (Self, impl Future<Output = Result<Done, Refusal>>) {
        let (sender, receiver) = oneshot::channel();
        // Who no longer waits need not be told.
        let answer = Self::new(move |outcome| drop(sender.send(outcome)));
        (answer, async { receiver.await.unwrap_or_else(|_| Err(unknown())) })
    }

    pub(super) fn give(mut self, outcome: Result<Done, Refusal>) {
        if let Some(give) = self.0.take() {
            give(outcome);
        }
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
    Refusal::Interrupted("the task that did it is gone".into())
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Answer").finish_non_exhaustive()
    }
}
