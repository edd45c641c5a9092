//! Group commit, the thread's side.
//!
//! One thread makes all writes. It takes what waits in the queue, up to the limits of a group, runs it, and makes it
//! durable with one atomic batch and one fsync; only then is anybody answered. While the disk is busy the next group
//! gathers, so under load one fsync serves many writes, and a single write waits for nothing but its own. Where several
//! come at a time, groups keep a distance: the disk then answers sooner than when it is asked without a pause.
//!
//! A commit that fails stops the store: nobody can know what is on the disk, so everybody who waits gets
//! [`StoreError::Stopped`], and so does everybody after. Opening the folder again reads what is really there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use godwit_domain::ports::{Clock, StoreError};
use godwit_domain::snowflake::IdGenerator;
use tokio::sync::{mpsc, oneshot};

use crate::committer::{Job, Message, State};
use crate::engine::{Engine, Panicked, View};
use crate::hot::{HotQueue, Pace};
use crate::keys;
use crate::measure;
use crate::options::Options;
use crate::order;
use crate::transfer::Tracker;
use crate::txn::{Overlay, Txn};

/// From the beginning of one group to that of the next, at least, when several want to write at a time: for each of them so
/// long, within bounds. A single writer, who waits for each answer, is never held up.
const APART_PER_WRITE: Duration = Duration::from_micros(50);
const APART_MIN: Duration = Duration::from_micros(500);
const APART_MAX: Duration = Duration::from_millis(4);

pub(crate) struct Worker {
    requests: mpsc::Receiver<Message>,
    engine: Arc<Engine>,
    ids: Arc<IdGenerator>,
    clock: Arc<dyn Clock>,
    hot: HotQueue,
    /// As it is after the last write that ran.
    tracker: Tracker,
    state: Arc<State>,
    group_requests_max: usize,
    group_bytes_max: usize,
}

/// What was done at once.
struct Group {
    writes: usize,
    closer: Option<Closer>,
}

/// Who asked to close.
type Closer = oneshot::Sender<Result<(), StoreError>>;

impl Worker {
    pub(crate) fn new(
        requests: mpsc::Receiver<Message>,
        engine: Arc<Engine>,
        ids: Arc<IdGenerator>,
        clock: Arc<dyn Clock>,
        hot: HotQueue,
        tracker: Tracker,
        options: &Options,
    ) -> Self {
        let state = Arc::new(State {
            is_gone: AtomicBool::new(tracker.is_gone()),
            hot_conversations: AtomicUsize::new(hot.len()),
            ..State::default()
        });
        let Options { group_requests_max, group_bytes_max, .. } = *options;
        Self { requests, engine, ids, clock, hot, tracker, state, group_requests_max, group_bytes_max }
    }

    pub(crate) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state)
    }

    /// Works until it is asked to close, or nobody is left to ask.
    pub(crate) fn run(mut self) {
        let _guard = StopOnPanic(Arc::clone(&self.state));
        let mut next_group = Instant::now();
        while let Some(message) = self.requests.blocking_recv() {
            std::thread::sleep(next_group.saturating_duration_since(Instant::now()));
            let began = Instant::now();
            let Group { writes, closer } = self.run_group(message);
            next_group = began + distance(writes + self.requests.len());
            if let Some(closer) = closer {
                // Who comes from here on is told that the store is closed, rather than left to wait.
                self.requests.close();
                let _ = closer.send(self.come_to_rest());
                return;
            }
        }
    }

    /// Runs a message and those that wait behind it as one group.
    fn run_group(&mut self, first: Message) -> Group {
        let view = self.engine.view();
        let (mut overlay, mut jobs, mut closer) = (Overlay::new(self.hot.room()), Vec::new(), None);
        let mut next = Some(first);
        while let Some(message) = next.take() {
            match message {
                Message::Write(job) => jobs.push(self.run_job(job, &view, &mut overlay)),
                Message::Close(caller) => closer = Some(caller),
            }
            let is_full = jobs.len() >= self.group_requests_max || overlay.bytes() >= self.group_bytes_max;
            if closer.is_none() && !is_full {
                next = self.requests.try_recv().ok();
            }
        }
        let writes = jobs.len();
        measure::group(writes, self.requests.len());
        if !overlay.is_empty() {
            self.settle(&view, &mut overlay, Pace::Due);
            self.commit(overlay);
        }
        for job in jobs {
            if self.is_stopped() { job.stop() } else { job.answer() }
        }
        Group { writes, closer }
    }

    fn run_job(&mut self, mut job: Box<dyn Job>, view: &View, overlay: &mut Overlay) -> Box<dyn Job> {
        if self.is_stopped() {
            return job;
        }
        match self.tracker.refusal() {
            Some(reason) if !job.is_of_move() => job.refuse(reason),
            _ => job.run(Txn::new(view, overlay), &self.tracker),
        }
        if job.is_of_move() {
            self.follow_move(&Txn::new(view, overlay));
        }
        job
    }

    /// Makes the next writes heed what the last one did to the move, also those of the same group.
    fn follow_move(&mut self, written: &Txn<'_>) {
        match Tracker::read(written) {
            Ok(tracker) => self.tracker = tracker,
            Err(error) => self.stop(&error),
        }
        self.state.is_gone.store(self.tracker.is_gone(), Ordering::Release);
    }

    /// Moves rows of the inbox to where they belong, along with the writes of a group.
    fn settle(&mut self, view: &View, overlay: &mut Overlay, pace: Pace) {
        let now = self.clock.now();
        self.hot.extend(overlay.heated(), now);
        for conversation in self.hot.take(pace, now) {
            let mut txn = Txn::new(view, overlay);
            match order::settle(&mut txn, conversation) {
                Ok(()) => txn.keep(),
                // It stays hot, so its place in the inboxes is exact all the same, and the next start tries again.
                Err(error) => tracing::warn!(%conversation, %error, "a hot conversation was not settled"),
            }
        }
        self.state.hot_conversations.store(self.hot.len(), Ordering::Relaxed);
    }

    /// Makes a group durable, with the highest id given out so far: whatever id a write of the group has, no later run
    /// gives it out again, though the clock be set back.
    fn commit(&self, mut overlay: Overlay) {
        overlay.put(keys::highest_id(), self.ids.last().to_be_bytes().into());
        let began = Instant::now();
        match catch_unwind(AssertUnwindSafe(|| self.engine.commit(overlay.into_rows()))) {
            Ok(Ok(())) => {
                self.state.commits.fetch_add(1, Ordering::Relaxed);
                measure::commit(began.elapsed());
            }
            Ok(Err(error)) => self.stop(&error),
            Err(panic) => self.stop(&Panicked::new(&*panic)),
        }
    }

    /// Leaves nothing for the next start to do.
    fn come_to_rest(&mut self) -> Result<(), StoreError> {
        while self.hot.len() > 0 && !self.is_stopped() {
            let mut overlay = Overlay::new(0);
            let view = self.engine.view();
            self.settle(&view, &mut overlay, Pace::All);
            self.commit(overlay);
        }
        if self.is_stopped() {
            return Err(StoreError::Stopped);
        }
        let unflushed = |source| StoreError::Unavailable { operation: "close", source: Box::new(source) };
        self.engine.flush().map_err(unflushed)
    }

    fn stop(&self, error: &(dyn std::error::Error + 'static)) {
        tracing::error!(error, "a write could not be made durable: the store takes no more of them");
        self.state.is_stopped.store(true, Ordering::Release);
    }

    fn is_stopped(&self) -> bool {
        self.state.is_stopped.load(Ordering::Acquire)
    }
}

/// How long after the beginning of a group the next one begins. Counted are its writes, and those that came meanwhile.
fn distance(writes: usize) -> Duration {
    if writes <= 1 {
        return Duration::ZERO;
    }
    let writes = u32::try_from(writes).unwrap_or(u32::MAX);
    APART_PER_WRITE.saturating_mul(writes).clamp(APART_MIN, APART_MAX)
}

/// Should the thread itself panic, those who ask are told, rather than left to wait.
struct StopOnPanic(Arc<State>);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_stopped.store(true, Ordering::Release);
        }
    }
}
