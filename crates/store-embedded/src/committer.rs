//! Group commit, the callers' side: hands writes to the one thread that makes them (`worker.rs`), and waits for the answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use godwit_domain::ports::{Clock, StoreError};
use godwit_domain::snowflake::IdGenerator;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use crate::engine::{Engine, Panicked};
use crate::hot::HotQueue;
use crate::options::Options;
use crate::transfer::{Refused, Tracker};
use crate::txn::Txn;
use crate::worker::Worker;

pub(crate) struct Committer {
    /// None only while it is dropped: the thread ends when there is nobody left to ask it.
    queue: Option<mpsc::Sender<Message>>,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread tells about itself.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) is_stopped: AtomicBool,
    /// All of the data is elsewhere.
    pub(crate) is_gone: AtomicBool,
    pub(crate) hot_conversations: AtomicUsize,
    pub(crate) commits: AtomicU64,
}

pub(crate) enum Message {
    Write(Box<dyn Job>),
    Close(oneshot::Sender<Result<(), StoreError>>),
}

/// A write, and somebody who waits for it.
pub(crate) trait Job: Send {
    /// Whether it is a part of a move itself, which goes on while other writes are refused, and may change what the
    /// tracker reads.
    fn is_of_move(&self) -> bool;

    /// Runs the write. It stays in the group unless it fails.
    fn run(&mut self, txn: Txn<'_>, tracker: &Tracker);

    /// Is called in the place of `run`.
    fn refuse(&mut self, reason: Refused);

    /// Tells the caller what came out. Only when it is durable, and all that it may have seen of the group with it.
    fn answer(self: Box<Self>);

    /// Tells the caller that nobody knows what came out.
    fn stop(self: Box<Self>);
}

struct Write<T, F> {
    operation: &'static str,
    is_of_move: bool,
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

    /// Runs a write and waits until it is durable. If it fails, nothing of it was written; if the caller goes away, it is
    /// made all the same.
    pub(crate) async fn write<T, F>(&self, operation: &'static str, write: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.ask(operation, false, write).await
    }

    /// The same for what is a part of a move.
    pub(crate) async fn write_of_move<T, F>(&self, operation: &'static str, write: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.ask(operation, true, write).await
    }

    async fn ask<T, F>(&self, operation: &'static str, is_of_move: bool, write: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        let result = Err(StoreError::Stopped);
        let job = Write { operation, is_of_move, write: Some(write), result, caller };
        self.send(operation, Message::Write(Box::new(job))).await?;
        answer.await.unwrap_or_else(|_| Err(self.gone(operation)))
    }

    /// Waits for the writes before it, settles the inbox and brings the engine to rest. No write is taken after it.
    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        let (caller, answer) = oneshot::channel();
        if self.send("close", Message::Close(caller)).await.is_err() {
            return self.check_running();
        }
        answer.await.unwrap_or_else(|_| self.check_running())
    }

    /// Whether writes will be made, now or later.
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

    /// Why the thread does not answer.
    fn gone(&self, operation: &'static str) -> StoreError {
        match self.check_running() {
            Err(error) => error,
            Ok(()) => StoreError::Unavailable { operation, source: Box::new(Closed) },
        }
    }
}

impl Drop for Committer {
    /// Waits for what was asked before, so that the folder is free when the store is gone.
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
    fn is_of_move(&self) -> bool {
        self.is_of_move
    }

    fn run(&mut self, mut txn: Txn<'_>, tracker: &Tracker) {
        let Some(write) = self.write.take() else { return };
        // A panic is a bug of one write. The others must not suffer from it, and what it wrote is taken back.
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

    fn answer(self: Box<Self>) {
        // The caller may have gone away.
        let _ = self.caller.send(self.result);
    }

    fn stop(self: Box<Self>) {
        let _ = self.caller.send(Err(StoreError::Stopped));
    }
}
