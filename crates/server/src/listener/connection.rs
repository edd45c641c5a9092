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
use tokio::time::{Sleep, sleep};

use super::slots::{ConnectionSlot, Control};

/// How long, and how many bytes, a client may continue to send after an answer that closes its connection.
const LINGER_MAX: Duration = Duration::from_secs(1);
const LINGER_BYTES_MAX: usize = 1024 * 1024;
const LINGER_BYTES_AT_ONCE: usize = 8 * 1024;

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

/// A stream that enforces its own limits. They last as long as the stream, whoever owns it: hyper, and after an upgrade the
/// socket.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    control: Arc<Control>,
    stall_max: Duration,
    /// Runs only while the peer does not read.
    stall: Option<Pin<Box<Sleep>>>,
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
        Self { stream, control, stall_max, stall: None, linger, lingering: None, slot, _permit: permit }
    }

    /// Fails if the connection was evicted.
    fn check_gate(&self, context: &Context<'_>) -> Result<()> {
        if self.control.is_open(context) {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::ConnectionAborted, "evicted to make room for others"))
        }
    }

    /// Returns the outcome of a write, or an error if the peer has not read for too long.
    fn or_stalled<T>(&mut self, outcome: Poll<Result<T>>, context: &mut Context<'_>) -> Poll<Result<T>> {
        if outcome.is_ready() {
            self.stall = None;
            return outcome;
        }
        let stall_max = self.stall_max;
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(stall_max)));
        stall.as_mut().poll(context).map(|()| Err(ErrorKind::TimedOut.into()))
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
        self.or_stalled(outcome, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        self.check_gate(context)?;
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.or_stalled(outcome, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Hyper flushes after it has written everything.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        if let Some(answer) = self.control.take_answer_end()
            && !self.control.is_signed_in()
        {
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
