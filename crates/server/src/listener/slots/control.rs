//! The state that a connection shares with the code that may end it.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Context;

use futures_util::task::AtomicWaker;
use godwit_protocol::UserId;

/// A logical time that orders the events of connections. The moment of an answer is taken before its first byte is written:
/// its client may have read it, and used another connection, before the server knows that it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::listener) struct Moment(pub(super) u64);

/// The state that a connection shares with the code that may end it.
#[derive(Debug, Default)]
pub(in crate::listener) struct Control {
    is_closed: AtomicBool,
    /// Lets signed-in sockets skip the lock of the table.
    pub(super) is_signed_in: AtomicBool,
    /// The moment of an answer whose body has ended and whose rest waits to be written; 0 if there is none.
    answer_ends: AtomicU64,
    /// The user of the current request, once it is authenticated; 0 for nobody.
    caller: AtomicU64,
    /// The bytes of the answer that is being written, if they count, and the user whom it is for. A connection has one answer
    /// at a time: the next request is handled when the answer is written.
    answer_bytes: AtomicUsize,
    answer_for: AtomicU64,
    task: AtomicWaker,
}

impl Control {
    /// True if the connection may continue. Registers the task to be woken when it may not any more.
    pub(in crate::listener) fn is_open(&self, context: &Context<'_>) -> bool {
        self.task.register(context.waker());
        !self.is_closed.load(Ordering::Acquire)
    }

    pub(in crate::listener) fn is_signed_in(&self) -> bool {
        self.is_signed_in.load(Ordering::Acquire)
    }

    /// The body of an answer has ended.
    pub(in crate::listener) fn answer_ends(&self, at: Moment) {
        self.answer_ends.store(at.0, Ordering::Release);
    }

    /// The answer that has ended since the last call. The connection calls this when it has nothing left to write.
    pub(in crate::listener) fn take_answer_end(&self) -> Option<Moment> {
        let at = self.answer_ends.swap(0, Ordering::AcqRel);
        (at != 0).then_some(Moment(at))
    }

    pub(in crate::listener) fn set_caller(&self, user: Option<UserId>) {
        self.caller.store(user.map_or(0, UserId::get), Ordering::Relaxed);
    }

    pub(super) fn caller(&self) -> Option<UserId> {
        Some(UserId::new(self.caller.load(Ordering::Relaxed))).filter(|user| user.get() != 0)
    }

    /// An answer to this user begins. Returns the bytes of the one before, if they are still there.
    pub(super) fn replace_answer(&self, user: UserId, bytes: usize) -> usize {
        self.answer_for.store(user.get(), Ordering::Relaxed);
        self.answer_bytes.swap(bytes, Ordering::Relaxed)
    }

    pub(super) fn take_answer(&self) -> usize {
        self.answer_bytes.swap(0, Ordering::Relaxed)
    }

    /// The user whom the current answer is for, and its bytes.
    pub(super) fn answer(&self) -> Option<(UserId, usize)> {
        let bytes = self.answer_bytes.load(Ordering::Relaxed);
        (bytes > 0).then(|| (UserId::new(self.answer_for.load(Ordering::Relaxed)), bytes))
    }

    pub(in crate::listener) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.task.wake();
    }
}
