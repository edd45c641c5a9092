//! Faults of a compare-and-set in tests.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::oneshot;

use crate::cql::{Outcome, unavailable};

/// The faults of the next statements.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    expected: Mutex<VecDeque<Fault>>,
    /// The number of faults that have occurred.
    struck: AtomicUsize,
}

#[derive(Debug)]
pub(crate) enum Fault {
    RequestLost,
    AnswerLost,
    /// The sender notices the loss only when the channel says so.
    RequestLostUntil(oneshot::Receiver<()>),
    AnswerLostUntil(oneshot::Receiver<()>),
    /// An earlier request, taken for lost, arrives just before this one.
    OldRequestArrives,
}

impl Faults {
    pub(crate) fn expect(&self, faults: impl IntoIterator<Item = Fault>) {
        self.expected.lock().unwrap().extend(faults);
    }

    pub(crate) fn have_struck(&self) -> bool {
        self.struck.load(Ordering::Acquire) > 0
    }

    pub(crate) async fn strike<F: Future<Output = Outcome>>(&self, send: impl Fn() -> F) -> Outcome {
        let fault = self.expected.lock().unwrap().pop_front();
        match &fault {
            None => return send().await,
            Some(Fault::OldRequestArrives) => {
                drop(send().await);
                return send().await;
            }
            Some(Fault::RequestLost | Fault::RequestLostUntil(_)) => {}
            Some(Fault::AnswerLost | Fault::AnswerLostUntil(_)) => drop(send().await),
        }
        self.struck.fetch_add(1, Ordering::Release);
        if let Some(Fault::RequestLostUntil(noticed) | Fault::AnswerLostUntil(noticed)) = fault {
            noticed.await.unwrap();
        }
        Outcome::Unknown(unavailable("test", "lost"))
    }
}
