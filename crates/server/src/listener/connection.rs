//! The byte stream of one connection, also after it has become a socket.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep};

use super::slots::{ConnectionSlot, Control};

/// How long, and how many bytes, a client may continue to send after an answer that closes its connection.
const LINGER_MAX: Duration = Duration::from_secs(1);
const LINGER_BYTES_MAX: usize = 1024 * 1024;
const LINGER_BYTES_AT_ONCE: usize = 8 * 1024;
/// What a client reads at least within the time limit for writes.
const READ_BYTES_MIN: usize = 32 * 1024;

/// Whether the client is still sending when its connection closes. If so, the server reads for a while, so that a reset does
/// not reach the client before it has read the answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Linger(Arc<AtomicBool>);

impl Linger {
    pub(super) fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A stream that enforces its own limits. They last as long as the stream, which belongs to hyper and, after an upgrade, to the
/// socket.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    control: Arc<Control>,
    patience: Patience,
    linger: Linger,
    /// Set once nothing more is written, with the number of bytes that may still be read.
    lingering: Option<(Pin<Box<Sleep>>, usize)>,
    /// Dropping the connection frees the slot and the permit.
    slot: ConnectionSlot,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    pub(super) const fn new(
        stream: TcpStream,
        control: Arc<Control>,
        linger: Linger,
        stall_max: Duration,
        slot: ConnectionSlot,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let patience = Patience::new(stall_max);
        Self { stream, control, patience, linger, lingering: None, slot, _permit: permit }
    }

    /// Fails if the connection was evicted.
    fn check_gate(&self, context: &Context<'_>) -> Result<()> {
        if self.control.is_open(context) {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::ConnectionAborted, "evicted to make room for others"))
        }
    }

    /// Reads and discards, until the client closes the connection or the time is over.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let until = || (Box::pin(sleep(LINGER_MAX)), LINGER_BYTES_MAX);
        let (end, bytes_left) = self.lingering.get_or_insert_with(until);
        loop {
            let mut bytes = [0; LINGER_BYTES_AT_ONCE];
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Pending => return end.as_mut().poll(context),
                Poll::Ready(Err(_)) => return Poll::Ready(()),
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => return Poll::Ready(()),
                Poll::Ready(Ok(())) => *bytes_left = bytes_left.saturating_sub(buffer.filled().len()),
            }
            if *bytes_left == 0 {
                return Poll::Ready(());
            }
        }
    }
}

/// The patience with a peer that reads slowly: of what keeps it waiting, it must read [`READ_BYTES_MIN`] in a certain time. A few
/// bytes now and then do not renew the time, so nobody makes the server hold an answer for long by reading it byte by byte.
#[derive(Debug)]
struct Patience {
    within: Duration,
    /// The time for which writes have waited since the last [`READ_BYTES_MIN`], and the bytes that were written in it.
    waited: Duration,
    written: usize,
    /// Since when a write has been waiting, and how long it still may.
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Patience {
    const fn new(within: Duration) -> Self {
        Self { within, waited: Duration::ZERO, written: 0, waiting: None }
    }

    /// Returns the outcome of a write, or an error if the peer has read too little for too long.
    fn with(&mut self, outcome: Poll<Result<usize>>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        if let Poll::Ready(written) = &outcome {
            if let Some((since, _)) = self.waiting.take() {
                self.waited += since.elapsed();
            }
            // A peer that keeps up has nothing to make up for.
            if !self.waited.is_zero() {
                self.written += written.as_ref().map_or(0, |bytes| *bytes);
                if self.written >= READ_BYTES_MIN {
                    (self.waited, self.written) = (Duration::ZERO, 0);
                }
            }
            return outcome;
        }
        let left = self.within.saturating_sub(self.waited);
        let (_, end) = self.waiting.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(left))));
        end.as_mut().poll(context).map(|()| Err(ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        self.check_gate(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        self.check_gate(context)?;
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.patience.with(outcome, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        self.check_gate(context)?;
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.patience.with(outcome, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Hyper flushes after it has written everything.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        if let Some(answer) = self.control.take_answer_end() {
            self.slot.answered(answer);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        }
        if self.linger.is_asked() { self.poll_linger(context).map(Ok) } else { Poll::Ready(Ok(())) }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    const WITHIN: Duration = Duration::from_secs(30);

    /// A peer that takes so many bytes after each pause. Returns how long it is waited for.
    async fn waited_for(bytes: usize, pause: Duration, pauses_max: usize) -> Option<Duration> {
        let mut patience = Patience::new(WITHIN);
        let context = &mut Context::from_waker(Waker::noop());
        let began = Instant::now();
        for _ in 0..pauses_max {
            assert!(patience.with(Poll::Pending, context).is_pending());
            tokio::time::advance(pause).await;
            if patience.with(Poll::Pending, context).is_ready() {
                return Some(began.elapsed());
            }
            assert!(patience.with(Poll::Ready(Ok(bytes)), context).is_ready());
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_byte_by_byte_is_not_waited_for() {
        let second = Duration::from_secs(1);
        assert_eq!(waited_for(0, WITHIN, 1).await, Some(WITHIN));
        assert_eq!(waited_for(1, second, 100).await, Some(WITHIN));
        assert_eq!(waited_for(1_000, second, 100).await, Some(WITHIN));
        assert_eq!(waited_for(1_200, second, 1_000).await, None, "slow, and fast enough");
        assert_eq!(waited_for(READ_BYTES_MIN, WITHIN - second, 100).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_of_the_server_does_not_count() {
        let mut patience = Patience::new(WITHIN);
        let context = &mut Context::from_waker(Waker::noop());
        for _ in 0..20 {
            assert!(patience.with(Poll::Pending, context).is_pending());
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(patience.with(Poll::Ready(Ok(100)), context).is_ready());
            // Nothing is written for an hour.
            tokio::time::advance(Duration::from_secs(3_600)).await;
        }
    }
}
