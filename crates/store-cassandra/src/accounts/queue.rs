//! Operations on one account that wait at the same time are made together. Whoever finds nobody at work begins to work,
//! for all who come meanwhile too.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;
use thiserror::Error;
use tokio::sync::oneshot;

use super::snapshot::Want;
use super::txn::{Stop, Txn};
use crate::cql::unavailable;

/// Operations that are made with one compare-and-set.
const TOGETHER_MAX: usize = 64;
/// Operations on one account that wait. Further ones are refused.
const WAITING_MAX: usize = 1_024;

/// Something to do on an account, and somebody who waits for it.
pub(super) trait Operation: Send {
    /// What it is known to need; whatever else it needs is read when it asks for it.
    fn wants(&self) -> &[Want];

    /// Runs on what has been read. It may run several times; the last one counts.
    fn run(&mut self, txn: &mut Txn<'_>);

    /// What must be written elsewhere before the changes are.
    fn before(&self, revision: u64) -> Option<BoxFuture<'static, Result<(), StoreError>>>;

    /// Tells the caller what came out, now that the changes are durable.
    fn answer(self: Box<Self>);

    /// Tells the caller that nobody knows what came out.
    fn fail(self: Box<Self>, error: &Arc<StoreError>);
}

pub(super) type Before = Box<dyn Fn(u64) -> BoxFuture<'static, Result<(), StoreError>> + Send>;

pub(super) struct Waiting<T, F> {
    pub(super) operation: &'static str,
    pub(super) wants: Vec<Want>,
    pub(super) run: F,
    pub(super) before: Option<Before>,
    pub(super) result: Option<Result<T, StoreError>>,
    pub(super) changes: bool,
    pub(super) caller: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Operation for Waiting<T, F>
where
    T: Send,
    F: FnMut(&mut Txn<'_>) -> Result<T, Stop> + Send,
{
    fn wants(&self) -> &[Want] {
        &self.wants
    }

    fn run(&mut self, txn: &mut Txn<'_>) {
        let (result, changes) = txn.run(&mut self.run);
        self.changes = changes;
        self.result = match result {
            Ok(value) => Some(Ok(value)),
            Err(Stop::Failed(error)) => Some(Err(error)),
            Err(Stop::Unread) => None,
        };
    }

    fn before(&self, revision: u64) -> Option<BoxFuture<'static, Result<(), StoreError>>> {
        self.before.as_ref().filter(|_| self.changes).map(|before| before(revision))
    }

    fn answer(self: Box<Self>) {
        let result = self.result.unwrap_or_else(|| Err(unavailable(self.operation, Gone)));
        // A caller who has gone away does not need it.
        let _ = self.caller.send(result);
    }

    fn fail(self: Box<Self>, error: &Arc<StoreError>) {
        let _ = self.caller.send(Err(unavailable(self.operation, error.clone())));
    }
}

#[derive(Default)]
pub(super) struct Queues {
    /// Of the accounts that somebody works on.
    waiting: Mutex<HashMap<UserId, VecDeque<Box<dyn Operation>>>>,
}

/// The right to work on an account, until it is dropped.
pub(super) struct Turn {
    queues: Arc<Queues>,
    user: UserId,
    /// From then on somebody else may have it.
    is_over: bool,
}

#[derive(Debug, Error)]
#[error("too many changes of one account wait")]
pub(super) struct Full;

#[derive(Debug, Error)]
#[error("the work on the account ended before it was done")]
pub(super) struct Gone;

impl Queues {
    /// The turn if nobody works on the account. Otherwise whoever does takes the operation up.
    pub(super) fn join(
        self: &Arc<Self>,
        user: UserId,
        operation: Box<dyn Operation>,
    ) -> Result<Option<Turn>, Full> {
        let mut queues = self.lock();
        match queues.get_mut(&user) {
            Some(queue) if queue.len() >= WAITING_MAX => Err(Full),
            Some(queue) => {
                queue.push_back(operation);
                Ok(None)
            }
            None => {
                queues.insert(user, VecDeque::from([operation]));
                Ok(Some(Turn { queues: self.clone(), user, is_over: false }))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<UserId, VecDeque<Box<dyn Operation>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    pub(super) const fn user(&self) -> UserId {
        self.user
    }

    /// Those that wait now. None when there are none: then the turn is over.
    pub(super) fn next(&mut self) -> Option<Vec<Box<dyn Operation>>> {
        let mut queues = self.queues.lock();
        let queue = queues.get_mut(&self.user)?;
        if queue.is_empty() {
            queues.remove(&self.user);
            self.is_over = true;
            return None;
        }
        Some(queue.drain(..queue.len().min(TOGETHER_MAX)).collect())
    }
}

impl Drop for Turn {
    /// When the work broke off there may be some left. Their callers hear of it, and the next one can begin.
    fn drop(&mut self) {
        if !self.is_over {
            let left = self.queues.lock().remove(&self.user);
            drop(left);
        }
    }
}

impl fmt::Debug for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queues").field("at_work", &self.lock().len()).finish_non_exhaustive()
    }
}
