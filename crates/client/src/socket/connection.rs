//! The task behind a socket: writes commands, reads frames, matches replies with the commands that wait for them.

use std::collections::HashMap;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::task::{Poll, ready};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use godwit_protocol::Problem;
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error as WsError, Message, Utf8Bytes};

use super::Closed;

/// How long the other side may take to say goodbye.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// A server without heartbeats is never too silent.
const SILENCE_NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

type Sink = SplitSink<WebSocketStream<TcpStream>, Message>;

pub(super) enum Outgoing {
    // Boxed, because a queue allocates room for several when it is made, and most sockets send little.
    Command(Box<Given>),
    Close,
}

/// A command that was given, and what it needs until its reply.
pub(super) struct Given {
    pub(super) id: u64,
    pub(super) frame: Utf8Bytes,
    pub(super) reply: oneshot::Sender<Reply>,
    pub(super) permit: OwnedSemaphorePermit,
}

pub(super) enum Reply {
    /// The whole frame. Whoever waits knows the type of what is in it.
    Ok(Utf8Bytes),
    Error(Box<Problem>),
}

pub(super) struct Connection {
    commands: mpsc::Receiver<Outgoing>,
    events: mpsc::Sender<Utf8Bytes>,
    closed: Arc<OnceLock<Closed>>,
    /// Commands without a reply. Each holds a permit, which bounds the table.
    waiting: HashMap<u64, (oneshot::Sender<Reply>, OwnedSemaphorePermit)>,
    /// An event for which the queue has no room. Until it has, nothing is read.
    held: Option<Utf8Bytes>,
    silence_max: Duration,
    heard_at: Instant,
}

impl Connection {
    pub(super) fn new(
        commands: mpsc::Receiver<Outgoing>,
        events: mpsc::Sender<Utf8Bytes>,
        closed: Arc<OnceLock<Closed>>,
        silence_max: Duration,
    ) -> Self {
        Self {
            commands,
            events,
            closed,
            waiting: HashMap::new(),
            held: None,
            silence_max: if silence_max.is_zero() { SILENCE_NEVER } else { silence_max },
            heard_at: Instant::now(),
        }
    }

    pub(super) async fn run(mut self, stream: WebSocketStream<TcpStream>) {
        let reason = self.exchange(stream).await;
        // Before the channels close: who finds one closed looks for the reason.
        let _ = self.closed.set(reason);
    }

    async fn exchange(&mut self, stream: WebSocketStream<TcpStream>) -> Closed {
        let (mut sink, mut stream) = stream.split();
        let mut unflushed = false;
        let silence = sleep_until(self.heard_at + self.silence_max);
        tokio::pin!(silence);
        loop {
            // In this order, so that commands given together are flushed together. None can starve the ones below it:
            // commands end when the permits do, and a permit comes back by reading.
            tokio::select! {
                biased;
                () = deliver(&self.events, &mut self.held), if self.held.is_some() => {
                    self.heard_at = Instant::now();
                }
                step = write_step(&mut self.commands, &mut sink, unflushed) => match step {
                    Ok(WriteStep::Flushed) => unflushed = false,
                    Ok(WriteStep::Command(Some(Outgoing::Command(given)))) => {
                        let Given { id, frame, reply, permit } = *given;
                        unflushed = true;
                        // Whoever gave the command may have given up while it waited here.
                        if !reply.is_closed() {
                            self.waiting.insert(id, (reply, permit));
                            if let Err(error) = sink.start_send_unpin(Message::Text(frame)) {
                                return lost(&error);
                            }
                        }
                    }
                    Ok(WriteStep::Command(Some(Outgoing::Close) | None)) => {
                        let _ = timeout(CLOSE_TIMEOUT, say_goodbye(sink, stream)).await;
                        return Closed::ByClient;
                    }
                    Err(error) => return lost(&error),
                },
                frame = stream.next(), if self.held.is_none() => {
                    self.heard_at = Instant::now();
                    if let ControlFlow::Break(reason) = self.read(frame) {
                        let _ = timeout(CLOSE_TIMEOUT, sink.close()).await;
                        return reason;
                    }
                }
                () = &mut silence => {
                    // While an event is held nobody listens, and who does not listen cannot call the server silent.
                    if self.held.is_none() && self.heard_at.elapsed() >= self.silence_max {
                        return Closed::Silent;
                    }
                    let from = if self.held.is_some() { Instant::now() } else { self.heard_at };
                    silence.as_mut().reset(from + self.silence_max);
                }
            }
        }
    }

    fn read(&mut self, frame: Option<Result<Message, WsError>>) -> ControlFlow<Closed> {
        match frame {
            Some(Ok(Message::Text(frame))) => self.dispatch(frame),
            Some(Ok(Message::Close(Some(close)))) => {
                let (code, reason) = (close.code.into(), close.reason.to_string());
                return ControlFlow::Break(Closed::ByServer { code, reason });
            }
            Some(Ok(Message::Close(None))) | None => {
                let cause = "the server closed it without a reason".to_owned();
                return ControlFlow::Break(Closed::Lost { cause });
            }
            // Pings are answered by the library below; binary frames are not part of the protocol.
            Some(Ok(_)) => {}
            Some(Err(error)) => return ControlFlow::Break(lost(&error)),
        }
        ControlFlow::Continue(())
    }

    fn dispatch(&mut self, frame: Utf8Bytes) {
        match serde_json::from_str::<Head>(&frame) {
            Ok(Head { id: Some(id), error }) => {
                if let Some((waiting, _permit)) = self.waiting.remove(&id) {
                    // Whoever gave the command may have given up.
                    let _ = waiting.send(error.map_or(Reply::Ok(frame), Reply::Error));
                }
            }
            Ok(Head { id: None, error: Some(problem) }) => {
                tracing::warn!(code = %problem.code, "the server could not read a frame");
            }
            Ok(Head { id: None, error: None }) => {
                if let Err(mpsc::error::TrySendError::Full(frame)) = self.events.try_send(frame) {
                    self.held = Some(frame);
                }
            }
            Err(error) => tracing::warn!(%error, "frame skipped"),
        }
    }
}

/// Enough of a frame to know whom it is for.
#[derive(Deserialize)]
struct Head {
    id: Option<u64>,
    error: Option<Box<Problem>>,
}

/// Hands over the event that is held, once there is room. Nothing is lost when this is cancelled.
async fn deliver(events: &mpsc::Sender<Utf8Bytes>, held: &mut Option<Utf8Bytes>) {
    let room = events.reserve().await;
    if let (Ok(room), Some(event)) = (room, held.take()) {
        room.send(event);
    }
}

enum WriteStep {
    Command(Option<Outgoing>),
    Flushed,
}

/// Takes the next command once it can be written, or flushes the ones before. Nothing is lost when this is cancelled.
async fn write_step(
    commands: &mut mpsc::Receiver<Outgoing>,
    sink: &mut Sink,
    unflushed: bool,
) -> Result<WriteStep, WsError> {
    poll_fn(|cx| {
        ready!(sink.poll_ready_unpin(cx))?;
        if let Poll::Ready(command) = commands.poll_recv(cx) {
            return Poll::Ready(Ok(WriteStep::Command(command)));
        }
        if unflushed {
            ready!(sink.poll_flush_unpin(cx))?;
            return Poll::Ready(Ok(WriteStep::Flushed));
        }
        Poll::Pending
    })
    .await
}

/// Sends the close frame and reads to the end: a connection that is dropped with something unread is reset, and what
/// was written last may never be seen.
async fn say_goodbye(mut sink: Sink, mut stream: SplitStream<WebSocketStream<TcpStream>>) {
    if sink.close().await.is_ok() {
        while let Some(Ok(_)) = stream.next().await {}
    }
}

fn lost(error: &WsError) -> Closed {
    Closed::Lost { cause: error.to_string() }
}
