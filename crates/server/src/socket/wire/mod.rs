//! Reads and writes the bytes of a socket. An idle socket holds no buffer: it reads into a shared one, and writes directly
//! from the frames.

mod incoming;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Poll, ready};

use bytes::{Buf, Bytes};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use self::incoming::Incoming;
pub(super) use self::incoming::{Message, Violation};

/// Bytes per read.
const READ_BYTES: usize = 16 * 1024;
/// Frames per write call.
const WRITTEN_AT_ONCE_MAX: usize = 64;

thread_local! {
    static READ: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into());
}

#[derive(Debug)]
pub(super) struct Wire {
    stream: TokioIo<Upgraded>,
    incoming: Incoming,
    /// Frames that are being written. The first one may be partly written.
    outgoing: VecDeque<Bytes>,
    is_first_begun: bool,
}

impl Wire {
    pub(super) fn new(stream: Upgraded) -> Self {
        Self {
            stream: TokioIo::new(stream),
            incoming: Incoming::default(),
            outgoing: VecDeque::new(),
            is_first_begun: false,
        }
    }

    /// The client has signed in: the message size limit of users applies.
    pub(super) const fn signed_in(&mut self) {
        self.incoming.signed_in();
    }

    /// True if the client has sent more than was received.
    pub(super) fn has_more(&self) -> bool {
        self.incoming.has_more()
    }

    /// The next message; `None` when the connection is closed. Cancel-safe.
    pub(super) async fn receive(&mut self) -> Option<Result<Message, Violation>> {
        loop {
            match self.incoming.next() {
                Ok(None) => {}
                Ok(Some(message)) => return Some(Ok(message)),
                Err(violation) => return Some(Err(violation)),
            }
            if self.read().await.ok()? == 0 {
                return None;
            }
        }
    }

    /// Writes frames. Not cancel-safe: after a cancelled call only [`close`](Self::close) is allowed.
    pub(super) async fn write(&mut self, frames: impl IntoIterator<Item = Bytes>) -> io::Result<()> {
        self.outgoing.extend(frames);
        self.write_out().await
    }

    /// Writes a last frame. Of the waiting frames, only the rest of a partly written one precedes it.
    pub(super) async fn close(&mut self, last: Bytes) -> io::Result<()> {
        self.outgoing.truncate(usize::from(self.is_first_begun));
        self.outgoing.push_back(last);
        self.write_out().await?;
        self.stream.shutdown().await
    }

    /// Reads and discards input until the client disconnects.
    pub(super) async fn discard(&mut self) {
        loop {
            self.incoming = Incoming::default();
            if !self.read().await.is_ok_and(|bytes| bytes > 0) {
                return;
            }
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        poll_fn(|context| {
            READ.with_borrow_mut(|shared| {
                let mut buffer = ReadBuf::new(shared);
                ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
                self.incoming.push(buffer.filled());
                Poll::Ready(Ok(buffer.filled().len()))
            })
        })
        .await
    }

    async fn write_out(&mut self) -> io::Result<()> {
        while !self.outgoing.is_empty() {
            let written = poll_fn(|context| {
                let mut slices = [IoSlice::new(&[]); WRITTEN_AT_ONCE_MAX];
                let mut count = 0;
                for (slice, frame) in slices.iter_mut().zip(&self.outgoing) {
                    *slice = IoSlice::new(frame);
                    count += 1;
                }
                Pin::new(&mut self.stream).poll_write_vectored(context, &slices[..count])
            })
            .await?;
            if written == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
            self.advance(written);
        }
        self.outgoing = VecDeque::new();
        Ok(())
    }

    fn advance(&mut self, mut written: usize) {
        while let Some(first) = self.outgoing.front_mut() {
            if written < first.len() {
                self.is_first_begun |= written > 0;
                first.advance(written);
                return;
            }
            written -= first.len();
            self.outgoing.pop_front();
            self.is_first_begun = false;
        }
    }
}
