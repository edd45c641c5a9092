//! Group commit, the thread's side. One thread makes all writes:
//!
//! 1. It takes the writes that wait in the queue, up to the limits of a group.
//! 2. It runs each on the same overlay. A write that fails is rolled back; the others stay.
//! 3. It commits the overlay: one atomic batch and one fsync.
//! 4. It answers every caller of the group.
//!
//! The next group gathers while the disk is busy, so under load one fsync serves many writes, and a single write waits only for
//! its own fsync. When several writes come at a time, the thread keeps a minimum distance between groups, because a disk that
//! is synced without pause becomes slower.
//!
//! A failed commit stops the store, because the state of the disk is unknown. All waiting callers, and all later ones, get
//! [`StoreError::Stopped`]. The next start recovers from the journal.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use godwit_domain::ports::{Clock, StoreError};
use godwit_domain::snowflake::IdGenerator;
use tokio::sync::{mpsc, oneshot};

use super::disk::Disk;
use super::{Job, Kind, Message, State};
use crate::engine::{Engine, Panicked, View};
use crate::inbox::hot::{HotQueue, Pace};
use crate::inbox::order;
use crate::keys;
use crate::measure;
use crate::options::Options;
use crate::transfer::Tracker;
use crate::txn::{Overlay, Txn};

/// The minimum time from the start of one group to the start of the next, per waiting write, up to a maximum. A single writer
/// that waits for each answer is never delayed.
const APART_PER_WRITE: Duration = Duration::from_micros(50);
const APART_MIN: Duration = Duration::from_micros(500);
const APART_MAX: Duration = Duration::from_millis(4);

pub(crate) struct Worker {
    requests: mpsc::Receiver<Message>,
    engine: Arc<Engine>,
    ids: Arc<IdGenerator>,
    clock: Arc<dyn Clock>,
    hot: HotQueue,
    /// The state of the transfer after the last write that ran.
    tracker: Tracker,
    disk: Disk,
    state: Arc<State>,
    group_requests_max: usize,
    group_bytes_max: usize,
}

/// One group that was committed.
struct Group {
    writes: usize,
    closer: Option<Closer>,
}

/// The caller that asked to close.
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
            free_bytes: AtomicU64::new(u64::MAX),
            free_bytes_min: AtomicU64::new(options.free_disk_bytes_min),
            ..State::default()
        });
        let disk = Disk::new(engine.folder().to_owned(), Arc::clone(&state));
        let Options { group_requests_max, group_bytes_max, .. } = *options;
        Self { requests, engine, ids, clock, hot, tracker, disk, state, group_requests_max, group_bytes_max }
    }

    pub(crate) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state)
    }

    /// Runs until it is asked to close, or the last sender is gone.
    pub(crate) fn run(mut self) {
        let _guard = StopOnPanic(Arc::clone(&self.state));
        let mut next_group = Instant::now();
        while let Some(message) = self.requests.blocking_recv() {
            std::thread::sleep(next_group.saturating_duration_since(Instant::now()));
            let began = Instant::now();
            let Group { writes, closer } = self.run_group(message);
            next_group = began + distance(writes + self.requests.len());
            if let Some(closer) = closer {
                // Later callers get an error rather than wait for ever.
                self.requests.close();
                let _ = closer.send(self.come_to_rest());
                return;
            }
        }
    }

    /// Runs a message, and those that wait behind it, as one group.
    fn run_group(&mut self, first: Message) -> Group {
        self.disk.look(self.engine.is_stuck());
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
        let kind = job.kind();
        match self.tracker.refusal() {
            Some(reason) if kind != Kind::Transfer => job.refuse(reason),
            _ if self.disk.refuses(kind) => job.refuse_for_room(),
            _ => job.run(Txn::new(view, overlay), &self.tracker),
        }
        if kind == Kind::Transfer {
            self.follow_transfer(&Txn::new(view, overlay));
        }
        job
    }

    /// Reads the state of the transfer again, so that the next write, even of the same group, obeys it.
    fn follow_transfer(&mut self, written: &Txn<'_>) {
        match Tracker::read(written) {
            Ok(tracker) => self.tracker = tracker,
            Err(error) => self.stop(&error),
        }
        self.state.is_gone.store(self.tracker.is_gone(), Ordering::Release);
    }

    /// Moves inbox rows of hot conversations to their position, together with the writes of a group.
    fn settle(&mut self, view: &View, overlay: &mut Overlay, pace: Pace) {
        let now = self.clock.now();
        self.hot.extend(overlay.heated(), now);
        for conversation in self.hot.take(pace, now) {
            let mut txn = Txn::new(view, overlay);
            match order::settle(&mut txn, conversation) {
                Ok(()) => txn.keep(),
                // The conversation stays hot, so its position in the inboxes is exact all the same. The next start
                // tries again.
                Err(error) => tracing::warn!(%conversation, %error, "could not settle a hot conversation"),
            }
        }
        self.state.hot_conversations.store(self.hot.len(), Ordering::Relaxed);
    }

    /// Commits a group together with the highest id issued so far. So no id of the group is ever issued again, even if the
    /// clock is set back before the next start.
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

    /// Settles all hot conversations and flushes the engine, so that the next start has nothing to do.
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
        tracing::error!(error, "a write could not be made durable; the store accepts no more writes");
        self.state.is_stopped.store(true, Ordering::Release);
    }

    fn is_stopped(&self) -> bool {
        self.state.is_stopped.load(Ordering::Acquire)
    }
}

/// The time from the start of a group to the start of the next one. `writes` counts the writes of the group and those that
/// wait.
fn distance(writes: usize) -> Duration {
    if writes <= 1 {
        return Duration::ZERO;
    }
    let writes = u32::try_from(writes).unwrap_or(u32::MAX);
    APART_PER_WRITE.saturating_mul(writes).clamp(APART_MIN, APART_MAX)
}

/// If the thread panics, callers get an error rather than wait for ever.
struct StopOnPanic(Arc<State>);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_stopped.store(true, Ordering::Release);
        }
    }
}
