//! The queue of operations per account. Operations that wait at the same time are written as one batch: the
//! first caller starts a worker, and the worker takes up the operations that arrive meanwhile.

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

/// Operations in one compare-and-set.
const TOGETHER_MAX: usize = 64;
/// Operations that may wait per account. Further ones are refused.
const WAITING_MAX: usize = 1_024;

/// An operation on an account, with the caller that waits for its result.
pub(super) trait Operation: Send {
    /// The rows that the operation certainly needs. Other rows are read when it asks for them.
    fn wants(&self) -> &[Want];

    /// Runs the operation on the rows that have been read. It may run several times; only the last run counts.
    fn run(&mut self, txn: &mut Txn<'_>);

    /// The writes outside the account that must be durable before the changes.
    fn before(&self, revision: u64) -> Option<BoxFuture<'static, Result<(), StoreError>>>;

    /// Sends the result to the caller, now that the changes are durable.
    fn answer(self: Box<Self>);

    /// Tells the caller that the outcome is unknown.
    fn fail(self: Box<Self>, error: &Arc<StoreError>);
}

/// The writes that must be durable before the changes of an operation, from its result and the revision that
/// the account will have.
pub(super) type Before<T> = Box<dyn Fn(&T, u64) -> BoxFuture<'static, Result<(), StoreError>> + Send>;

pub(super) struct Waiting<T, F> {
    pub(super) operation: &'static str,
    pub(super) wants: Vec<Want>,
    pub(super) run: F,
    pub(super) before: Option<Before<T>>,
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
        let result = self.result.as_ref()?.as_ref().ok()?;
        self.before.as_ref().filter(|_| self.changes).map(|before| before(result, revision))
    }

    fn answer(self: Box<Self>) {
        let result = self.result.unwrap_or_else(|| Err(unavailable(self.operation, Gone)));
        // The caller may have gone.
        let _ = self.caller.send(result);
    }

    fn fail(self: Box<Self>, error: &Arc<StoreError>) {
        let _ = self.caller.send(Err(unavailable(self.operation, error.clone())));
    }
}

#[derive(Default)]
pub(super) struct Queues {
    /// The queues of the accounts that have a worker.
    waiting: Mutex<HashMap<UserId, VecDeque<Box<dyn Operation>>>>,
}

/// The exclusive right of a task to work on an account, within this process. Dropping it ends the right.
pub(super) struct Turn {
    queues: Arc<Queues>,
    user: UserId,
    /// Set when the queue is empty and another worker may start.
    is_over: bool,
}

#[derive(Debug, Error)]
#[error("too many pending changes of one account")]
pub(super) struct Full;

#[derive(Debug, Error)]
#[error("the change of the account was interrupted")]
pub(super) struct Gone;

impl Queues {
    /// Enqueues an operation. Returns the turn if no worker is active on the account; otherwise the active
    /// worker takes the operation up.
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

    /// The next batch of waiting operations. `None` when the queue is empty, which ends the turn.
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
    /// If the worker is cancelled or panics, its queue may have operations left. Dropping them fails their
    /// callers, and the next caller can start a new worker.
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
