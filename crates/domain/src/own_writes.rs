//! Writes that users make in their own name and that are not decided in the queue of a conversation: new conversations,
//! scheduled messages, changes of the profile.
//!
//! Each is checked against the account right before it is written, and counted until it is. Whoever disables an account
//! waits for the writes that were checked before.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use godwit_protocol::UserId;
use thiserror::Error;
use tokio::sync::Notify;

use crate::ports::{Store, StoreError};

#[derive(Debug)]
pub(crate) struct OwnWrites {
    store: Arc<dyn Store>,
    under_way: Arc<UnderWay>,
}

#[derive(Debug, Error)]
pub(crate) enum NotWritten {
    #[error("the account is disabled")]
    Disabled,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OwnWrites {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, under_way: Arc::default() }
    }

    /// Makes a write of a user, unless their account is disabled. The write has a task of its own: it counts until the store
    /// has finished it, also if the caller goes away.
    pub(crate) async fn write<T, W>(
        &self,
        by: UserId,
        write: impl FnOnce(Arc<dyn Store>) -> W + Send + 'static,
    ) -> Result<T, NotWritten>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, StoreError>> + Send,
    {
        let (store, begun) = (self.store.clone(), UnderWay::begin(&self.under_way));
        let writing = tokio::spawn(async move {
            let _begun = begun;
            if store.user(by).await?.is_some_and(|user| user.disabled_at.is_some()) {
                return Err(NotWritten::Disabled);
            }
            Ok(write(store).await?)
        });
        writing.await.unwrap_or_else(|error| {
            Err(StoreError::Unavailable { operation: "write for a user", source: error.into() }.into())
        })
    }

    /// Returns when the writes that began before the call have finished.
    pub(crate) async fn settle(&self) {
        self.under_way.settle().await;
    }
}

/// The writes that have begun and not finished.
#[derive(Debug, Default)]
struct UnderWay {
    numbers: Mutex<Numbers>,
    finished: Notify,
}

#[derive(Debug, Default)]
struct Numbers {
    next: u64,
    under_way: BTreeSet<u64>,
}

/// Counts until it is dropped.
struct Begun {
    number: u64,
    of: Arc<UnderWay>,
}

impl UnderWay {
    fn begin(this: &Arc<Self>) -> Begun {
        let mut numbers = this.lock();
        let number = numbers.next;
        numbers.next += 1;
        numbers.under_way.insert(number);
        Begun { number, of: this.clone() }
    }

    async fn settle(&self) {
        let before = self.lock().next;
        loop {
            let mut finished = pin!(self.finished.notified());
            // Registers first, so that a write that finishes between the check and the wait is not missed.
            finished.as_mut().enable();
            if self.lock().under_way.first().is_none_or(|first| *first >= before) {
                return;
            }
            finished.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.of.lock().under_way.remove(&self.number);
        self.of.finished.notify_waiters();
    }
}
