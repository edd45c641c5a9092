//! Fault injection: runs another call in the middle of a call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Other = Pin<Box<dyn Future<Output = ()> + Send>>;

/// When the other caller acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before a scheduled message is replaced.
    BeforeReplace,
    /// After a conversation was loaded, before the reader knows it.
    AfterLoad,
    /// Before a daily allowance is spent: after a use case has checked a request, before it acts on it.
    BeforeSpending,
    /// After a member was read, before the reader knows it.
    AfterMember,
    /// After an append, before the caller knows of it.
    AfterAppend,
    /// After a group was made, before the caller knows of it.
    AfterCreate,
    /// Before a conversation is made, a message scheduled, or a profile changed by its user.
    BeforeOwnWrite,
}

#[derive(Default)]
pub(super) struct Meanwhile(Mutex<Vec<(Moment, Other)>>);

impl Meanwhile {
    pub(super) fn expect(&self, moment: Moment, other: impl Future<Output = ()> + Send + 'static) {
        self.lock().push((moment, Box::pin(other)));
    }

    /// Each happens once. It may make the same call itself.
    pub(super) async fn happen(&self, now: Moment) {
        let others: Vec<(Moment, Other)> = self.lock().extract_if(.., |(moment, _)| *moment == now).collect();
        for (_, other) in others {
            other.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Moment, Other)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Meanwhile").field(&self.lock().len()).finish()
    }
}
