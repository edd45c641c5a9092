//! The bytes of one connection, also after it has become a socket.

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

use super::places::{Gate, Place};

/// How long, and how many bytes, a client may go on sending after an answer that closes its connection.
const LINGER_MAX: Duration = Duration::from_secs(1);
const LINGER_BYTES_MAX: usize = 1024 * 1024;
const LINGER_BYTES_AT_ONCE: usize = 8 * 1024;

/// Whether the client is still sending when its connection is closed: then what comes is read for a while, so that the
/// connection is not reset before the client has read its answer.
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

/// A stream that carries its own limits. They hold as long as the stream does, whoever owns it: hyper, and after an
/// upgrade the handler of the socket.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    gate: Arc<Gate>,
    stall_max: Duration,
    /// Runs only while the peer takes nothing of what is to be written.
    stall: Option<Pin<Box<Sleep>>>,
    linger: Linger,
    /// Since nothing more is written; with the bytes that may still be read.
    lingering: Option<(Pin<Box<Sleep>>, usize)>,
    /// Both are given back when this is dropped.
    place: Place,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    pub(super) const fn new(
        stream: TcpStream,
        gate: Arc<Gate>,
        linger: Linger,
        stall_max: Duration,
        place: Place,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self { stream, gate, stall_max, stall: None, linger, lingering: None, place, _permit: permit }
    }

    /// Fails when the connection has been evicted.
    fn check_gate(&self, context: &Context<'_>) -> Result<()> {
        if self.gate.is_open(context) {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::ConnectionAborted, "evicted to make room for others"))
        }
    }

    /// Passes the outcome of a write on, and gives up on a peer that has taken nothing for too long.
    fn or_stalled<T>(&mut self, outcome: Poll<Result<T>>, context: &mut Context<'_>) -> Poll<Result<T>> {
        if outcome.is_ready() {
            self.stall = None;
            return outcome;
        }
        let stall_max = self.stall_max;
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(stall_max)));
        stall.as_mut().poll(context).map(|()| Err(ErrorKind::TimedOut.into()))
    }

    /// Reads what still comes, until the client has gone or has had its time.
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

    /// Hyper asks for it when it has written all that it had.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        if let Some(answer) = self.gate.take_answer_end()
            && !self.gate.is_signed_in()
        {
            self.place.answered(answer);
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
