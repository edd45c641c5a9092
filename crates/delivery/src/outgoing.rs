//! The queue of frames for one socket.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use godwit_protocol::socket::CloseCode;
use tokio::sync::Notify;

/// A queue bounded in frames and in bytes. It is usually empty, and then uses no memory.
#[derive(Debug)]
pub struct Outgoing {
    frames_max: usize,
    bytes_max: usize,
    state: Mutex<State>,
    /// Wakes the task that writes to the socket.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    frames: Vec<Bytes>,
    /// Bytes of the frames that wait or are being written.
    bytes: usize,
    /// The part of them that belongs to this socket alone: answers. Events are shared with other sockets.
    answers: usize,
    /// Answers in the step that is being written.
    answers_in_step: usize,
    ping: bool,
    /// The number of replies that are still to come.
    owed: usize,
    close: Option<Close>,
}

#[derive(Debug, Clone, Copy)]
struct Close {
    code: CloseCode,
    /// Whether the frames that are queued before the close are still sent.
    after_frames: bool,
}

/// The next step of the writing task.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Write these frames, and a ping if set. Then call [`Outgoing::written`].
    Write {
        frames: Vec<Bytes>,
        ping: bool,
    },
    Close(CloseCode),
}

impl Outgoing {
    pub fn new(frames_max: usize, bytes_max: usize) -> Self {
        Self { frames_max, bytes_max, state: Mutex::default(), changed: Notify::new() }
    }

    /// Adds a frame. If the queue is full, the reader is too slow: the queue is dropped and the socket closes.
    /// Returns `false` if the frame was not added.
    pub fn push(&self, frame: Bytes) -> bool {
        self.push_if_open(1, frame.len(), std::iter::once(frame))
    }

    /// Adds an answer, which no other socket shares.
    pub fn answer(&self, frame: Bytes) -> bool {
        let mut state = self.lock();
        let is_open = state.close.is_none();
        let fits = is_open && self.add_answer(&mut state, frame);
        drop(state);
        self.changed.notify_one();
        fits
    }

    /// Adds several frames: all of them or none.
    pub fn push_all(&self, frames: &[Bytes]) -> bool {
        let bytes = frames.iter().map(Bytes::len).sum();
        self.push_if_open(frames.len(), bytes, frames.iter().cloned())
    }

    /// Announces a reply.
    pub fn owe(&self) {
        self.lock().owed += 1;
    }

    /// The number of replies that are still to come.
    pub fn owed(&self) -> usize {
        self.lock().owed
    }

    /// Adds an announced reply, even while the socket is being finished.
    pub fn reply(&self, frame: Bytes) {
        let mut state = self.lock();
        state.owed = state.owed.saturating_sub(1);
        if state.close.is_none_or(|close| close.after_frames) {
            self.add_answer(&mut state, frame);
        }
        drop(state);
        self.changed.notify_one();
    }

    fn add_answer(&self, state: &mut State, frame: Bytes) -> bool {
        let bytes = frame.len();
        let fits = self.add(state, 1, bytes, std::iter::once(frame));
        state.answers += if fits { bytes } else { 0 };
        fits
    }

    fn push_if_open(&self, count: usize, bytes: usize, frames: impl Iterator<Item = Bytes>) -> bool {
        let mut state = self.lock();
        if state.close.is_some() {
            return false;
        }
        let fits = self.add(&mut state, count, bytes, frames);
        drop(state);
        self.changed.notify_one();
        fits
    }

    fn add(
        &self,
        state: &mut State,
        count: usize,
        bytes: usize,
        frames: impl Iterator<Item = Bytes>,
    ) -> bool {
        let fits = state.frames.len() + count <= self.frames_max && state.bytes + bytes <= self.bytes_max;
        if fits {
            state.bytes += bytes;
            state.frames.extend(frames);
        } else {
            metrics::counter!("godwit_slow_readers_total").increment(1);
            state.stop(CloseCode::TooSlow);
        }
        fits
    }

    pub fn ping(&self) {
        self.lock().ping = true;
        self.changed.notify_one();
    }

    /// Closes at once. Frames that wait are dropped.
    pub fn close(&self, code: CloseCode) {
        self.lock().stop(code);
        self.changed.notify_one();
    }

    /// Closes after the frames that wait, a last frame, and the announced replies.
    pub fn finish(&self, last: Bytes, code: CloseCode) {
        let mut state = self.lock();
        if state.close.is_none() {
            state.bytes += last.len();
            state.frames.push(last);
            state.close = Some(Close { code, after_frames: true });
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for the next step. Only for the writing task.
    pub async fn next(&self) -> Step {
        loop {
            if let Some(step) = self.take() {
                return step;
            }
            self.changed.notified().await;
        }
    }

    /// Releases the bytes of the frames of a step.
    pub fn written(&self, bytes: usize) {
        let mut state = self.lock();
        state.bytes = state.bytes.saturating_sub(bytes);
        state.answers = state.answers.saturating_sub(std::mem::take(&mut state.answers_in_step));
    }

    /// Resolves when the socket must be closed at once, even during a write. Only for the writing task.
    pub async fn must_stop(&self) -> CloseCode {
        loop {
            if let Some(Close { code, after_frames: false }) = self.lock().close {
                return code;
            }
            self.changed.notified().await;
        }
    }

    /// Whether the socket must be closed at once.
    pub fn is_closed(&self) -> bool {
        matches!(self.lock().close, Some(Close { after_frames: false, .. }))
    }

    /// Whether the queue is more than half full, so that the reply to the client's next request might not fit.
    pub fn is_half_full(&self) -> bool {
        let state = self.lock();
        state.frames.len() > self.frames_max / 2 || state.bytes > self.bytes_max / 2
    }

    /// Bytes that wait or are being written.
    pub fn queued_bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Bytes of answers that wait or are being written.
    pub fn answer_bytes(&self) -> usize {
        self.lock().answers
    }

    fn take(&self) -> Option<Step> {
        let mut state = self.lock();
        match state.close {
            Some(close) if !close.after_frames || (state.frames.is_empty() && state.owed == 0) => {
                Some(Step::Close(close.code))
            }
            _ if state.frames.is_empty() && !state.ping => None,
            _ => {
                state.answers_in_step = state.answers;
                Some(Step::Write {
                    frames: std::mem::take(&mut state.frames),
                    ping: std::mem::take(&mut state.ping),
                })
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn stop(&mut self, code: CloseCode) {
        if self.close.is_none_or(|close| close.after_frames) {
            self.close = Some(Close { code, after_frames: false });
        }
        self.frames = Vec::new();
        (self.bytes, self.answers, self.answers_in_step) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(size: usize) -> Bytes {
        Bytes::from(vec![b'x'; size])
    }

    #[tokio::test]
    async fn frames_are_taken_in_order_and_together() {
        let outgoing = Outgoing::new(10, 100);
        for size in 1..4 {
            assert!(outgoing.push(frame(size)));
        }
        assert_eq!(
            outgoing.next().await,
            Step::Write { frames: vec![frame(1), frame(2), frame(3)], ping: false }
        );
    }

    #[tokio::test]
    async fn a_slow_reader_is_closed_and_its_queue_freed() {
        let outgoing = Outgoing::new(10, 100);
        assert!(outgoing.push(frame(60)));
        let Step::Write { frames, .. } = outgoing.next().await else { panic!("there is a frame") };
        assert!(!outgoing.push(frame(60)), "what is being written counts too");
        assert_eq!(outgoing.next().await, Step::Close(CloseCode::TooSlow));
        assert!(!outgoing.push(frame(1)));
        assert_eq!(outgoing.queued_bytes(), 0);
        drop(frames);

        let by_count = Outgoing::new(2, 1_000);
        assert!(by_count.push(frame(1)) && by_count.push(frame(1)) && !by_count.push(frame(1)));
    }

    #[tokio::test]
    async fn the_queue_reports_when_it_is_half_full() {
        let outgoing = Outgoing::new(4, 100);
        assert!(outgoing.push(frame(50)) && !outgoing.is_half_full());
        assert!(outgoing.push(frame(1)) && outgoing.is_half_full());
        outgoing.next().await;
        assert!(outgoing.is_half_full(), "what is being written counts too");
        outgoing.written(51);
        assert!(!outgoing.is_half_full());
        for _ in 0..3 {
            outgoing.push(frame(1));
        }
        assert!(outgoing.is_half_full());
    }

    #[tokio::test]
    async fn written_frames_make_room() {
        let outgoing = Outgoing::new(10, 100);
        for _ in 0..5 {
            assert!(outgoing.push(frame(90)));
            outgoing.next().await;
            outgoing.written(90);
        }
    }

    #[tokio::test]
    async fn closing_drops_waiting_frames_and_finishing_does_not() {
        let closed = Outgoing::new(10, 100);
        closed.push(frame(1));
        assert!(!closed.is_closed());
        closed.close(CloseCode::SignedOut);
        assert!(closed.is_closed());
        assert_eq!(closed.must_stop().await, CloseCode::SignedOut);
        assert_eq!(closed.next().await, Step::Close(CloseCode::SignedOut));

        let finished = Outgoing::new(10, 100);
        finished.push(frame(1));
        finished.finish(frame(2), CloseCode::ServiceRestart);
        assert!(!finished.push(frame(3)) && !finished.is_closed());
        assert_eq!(finished.next().await, Step::Write { frames: vec![frame(1), frame(2)], ping: false });
        assert_eq!(finished.next().await, Step::Close(CloseCode::ServiceRestart));
    }

    #[tokio::test]
    async fn finishing_waits_for_announced_replies() {
        let outgoing = Outgoing::new(10, 100);
        outgoing.owe();
        outgoing.finish(frame(1), CloseCode::ServiceRestart);
        assert_eq!(outgoing.next().await, Step::Write { frames: vec![frame(1)], ping: false });
        assert!(outgoing.take().is_none() && outgoing.owed() == 1);
        outgoing.reply(frame(2));
        assert_eq!(outgoing.next().await, Step::Write { frames: vec![frame(2)], ping: false });
        assert_eq!(outgoing.next().await, Step::Close(CloseCode::ServiceRestart));
    }

    #[tokio::test]
    async fn frames_pushed_together_are_all_queued_or_none() {
        let outgoing = Outgoing::new(3, 100);
        assert!(outgoing.push_all(&[frame(1), frame(2)]));
        assert!(!outgoing.push_all(&[frame(3), frame(4)]));
        assert_eq!(outgoing.next().await, Step::Close(CloseCode::TooSlow));
    }

    #[tokio::test]
    async fn the_end_of_a_session_overrides_a_graceful_close() {
        let outgoing = Outgoing::new(10, 100);
        outgoing.finish(frame(1), CloseCode::ServiceRestart);
        outgoing.close(CloseCode::SignedOut);
        assert_eq!(outgoing.next().await, Step::Close(CloseCode::SignedOut));
    }

    #[tokio::test]
    async fn the_writer_is_woken() {
        let outgoing = std::sync::Arc::new(Outgoing::new(10, 100));
        let writer = tokio::spawn({
            let outgoing = outgoing.clone();
            async move { outgoing.next().await }
        });
        tokio::task::yield_now().await;
        outgoing.ping();
        assert_eq!(writer.await.unwrap(), Step::Write { frames: vec![], ping: true });
    }
}
