//! Group commit, the callers' side. A caller hands its write, a closure on a [`Txn`], to the committer's thread ([`worker`]) and
//! waits for the answer. [`disk`] refuses writes before the disk is full.
//!
//! ```text
//!  caller ─ write ─▶ ┐                     ┌─▶ run every closure on one overlay   (txn)
//!  caller ─ write ─▶ ├─ bounded queue ─▶ group ─▶ settle hot inboxes, highest id
//!  caller ─ write ─▶ ┘                     └─▶ one atomic batch, one fsync        (engine)
//!  caller ◀──────────────── answer ─────────── only now
//! ```

mod disk;
mod worker;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use godwit_domain::ports::{Clock, StoreError};
use godwit_domain::snowflake::IdGenerator;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use self::worker::Worker;
use crate::engine::{Engine, Panicked};
use crate::inbox::hot::HotQueue;
use crate::options::Options;
use crate::transfer::{Refused, Tracker};
use crate::txn::Txn;

pub(crate) struct Committer {
    /// `None` only while the committer is dropped: the thread ends when the last sender is gone.
    queue: Option<mpsc::Sender<Message>>,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread publishes about itself.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) is_stopped: AtomicBool,
    /// All data was transferred to another store.
    pub(crate) is_gone: AtomicBool,
    pub(crate) hot_conversations: AtomicUsize,
    pub(crate) commits: AtomicU64,
    /// Free bytes of the disk when it was last looked at, and the limit for them.
    pub(crate) free_bytes: AtomicU64,
    pub(crate) free_bytes_min: AtomicU64,
}

/// What a write is for, which decides when it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Something that people store, such as messages.
    Content,
    /// Everything else: sessions, cursors, settings, and what takes something away.
    Upkeep,
    /// Part of a transfer. Such a write runs while others are refused, and may change the state that the tracker has read.
    Transfer,
}

pub(crate) enum Message {
    Write(Box<dyn Job>),
    Close(oneshot::Sender<Result<(), StoreError>>),
}

/// A write, with the caller that waits for it.
pub(crate) trait Job: Send {
    fn kind(&self) -> Kind;

    /// Runs the write. Its rows stay in the group unless it fails.
    fn run(&mut self, txn: Txn<'_>, tracker: &Tracker);

    /// Called instead of `run`.
    fn refuse(&mut self, reason: Refused);

    /// The same for lack of room on the disk.
    fn refuse_for_room(&mut self);

    /// Gives the caller the result. Called only when the whole group is durable, because a write may have read rows of the
    /// writes before it.
    fn answer(self: Box<Self>);

    /// Tells the caller that the outcome is unknown.
    fn stop(self: Box<Self>);
}

struct Write<T, F> {
    operation: &'static str,
    kind: Kind,
    write: Option<F>,
    result: Result<T, StoreError>,
    caller: oneshot::Sender<Result<T, StoreError>>,
}

#[derive(Debug, Error)]
#[error("the store is closed")]
struct Closed;

impl Committer {
    /// Starts the thread.
    pub(crate) fn start(
        engine: Arc<Engine>,
        ids: Arc<IdGenerator>,
        clock: Arc<dyn Clock>,
        hot: HotQueue,
        tracker: Tracker,
        options: &Options,
    ) -> std::io::Result<Self> {
        let (queue, requests) = mpsc::channel(options.queue_requests_max.max(1));
        let worker = Worker::new(requests, engine, ids, clock, hot, tracker, options);
        let state = worker.state();
        let thread =
            std::thread::Builder::new().name("godwit-committer".into()).spawn(move || worker.run())?;
        Ok(Self { queue: Some(queue), state, thread: Some(thread) })
    }

    /// Runs a write and waits until it is durable. If it fails, nothing of it was written. If the caller stops waiting, the
    /// write happens all the same.
    pub(crate) async fn write<T, F>(
        &self,
        operation: &'static str,
        kind: Kind,
        write: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        let result = Err(StoreError::Stopped);
        let job = Write { operation, kind, write: Some(write), result, caller };
        self.send(operation, Message::Write(Box::new(job))).await?;
        answer.await.unwrap_or_else(|_| Err(self.gone(operation)))
    }

    /// Waits for the earlier writes, settles the inboxes and flushes the engine. Later writes are refused.
    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        let (caller, answer) = oneshot::channel();
        if self.send("close", Message::Close(caller)).await.is_err() {
            return self.check_running();
        }
        answer.await.unwrap_or_else(|_| self.check_running())
    }

    /// Fails when no write will ever be accepted again.
    pub(crate) fn health(&self) -> Result<(), StoreError> {
        if self.state.is_gone.load(Ordering::Acquire) {
            Err(StoreError::Stopped)
        } else {
            self.check_running()
        }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Writes that wait.
    pub(crate) fn queue_depth(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.max_capacity() - queue.capacity())
    }

    async fn send(&self, operation: &'static str, message: Message) -> Result<(), StoreError> {
        match &self.queue {
            Some(queue) => queue.send(message).await.map_err(|_| self.gone(operation)),
            None => Err(self.gone(operation)),
        }
    }

    fn check_running(&self) -> Result<(), StoreError> {
        if self.state.is_stopped.load(Ordering::Acquire) { Err(StoreError::Stopped) } else { Ok(()) }
    }

    /// The error for a caller whom the thread does not answer.
    fn gone(&self, operation: &'static str) -> StoreError {
        match self.check_running() {
            Err(error) => error,
            Ok(()) => StoreError::Unavailable { operation, source: Box::new(Closed) },
        }
    }
}

impl Drop for Committer {
    /// Waits for the writes in the queue, so that the folder is free when the store has been dropped.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the committer's thread panicked");
        }
    }
}

impl<T, F> Job for Write<T, F>
where
    T: Send,
    F: FnOnce(&mut Txn<'_>) -> Result<T, StoreError> + Send,
{
    fn kind(&self) -> Kind {
        self.kind
    }

    fn run(&mut self, mut txn: Txn<'_>, tracker: &Tracker) {
        let Some(write) = self.write.take() else { return };
        // A panic is a bug in one write. The rows of that write are rolled back, and the other writes are unaffected.
        let result = catch_unwind(AssertUnwindSafe(|| {
            let value = write(&mut txn)?;
            tracker.mark(&mut txn)?;
            Ok(value)
        }));
        self.result = result.unwrap_or_else(|panic| {
            let source = Panicked::new(&*panic);
            tracing::error!(operation = self.operation, error = %source, "a write panicked");
            Err(StoreError::Unavailable { operation: self.operation, source: Box::new(source) })
        });
        if self.result.is_ok() {
            txn.keep();
        }
    }

    fn refuse(&mut self, reason: Refused) {
        self.result = Err(StoreError::Unavailable { operation: self.operation, source: Box::new(reason) });
    }

    fn refuse_for_room(&mut self) {
        self.result = Err(StoreError::Full);
    }

    fn answer(self: Box<Self>) {
        // The caller may have gone away.
        let _ = self.caller.send(self.result);
    }

    fn stop(self: Box<Self>) {
        let _ = self.caller.send(Err(StoreError::Stopped));
    }
}
