//! The task of a socket: writes commands, reads frames, and matches replies with waiting commands.

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

/// How long the server may take to close the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// A server without heartbeats is never considered silent.
const SILENCE_NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

type Sink = SplitSink<WebSocketStream<TcpStream>, Message>;

pub(super) enum Outgoing {
    // Boxed, because a queue preallocates several items, and most sockets send little.
    Command(Box<Given>),
    Close,
}

/// A command, with the data needed until its reply.
pub(super) struct Given {
    pub(super) id: u64,
    pub(super) frame: Utf8Bytes,
    pub(super) reply: oneshot::Sender<Reply>,
    pub(super) permit: OwnedSemaphorePermit,
}

pub(super) enum Reply {
    /// The whole frame. The waiting caller knows the type of its content.
    Ok(Utf8Bytes),
    Error(Box<Problem>),
}

pub(super) struct Connection {
    commands: mpsc::Receiver<Outgoing>,
    events: mpsc::Sender<Utf8Bytes>,
    closed: Arc<OnceLock<Closed>>,
    /// Commands without a reply. Each holds a permit, which bounds the table.
    waiting: HashMap<u64, (oneshot::Sender<Reply>, OwnedSemaphorePermit)>,
    /// An event for which the queue has no room. The task reads nothing until there is room.
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
        // Set before the channels close: a caller that finds one closed looks for the reason.
        let _ = self.closed.set(reason);
    }

    async fn exchange(&mut self, stream: WebSocketStream<TcpStream>) -> Closed {
        let (mut sink, mut stream) = stream.split();
        let mut unflushed = false;
        let silence = sleep_until(self.heard_at + self.silence_max);
        tokio::pin!(silence);
        loop {
            // In this order, so that commands sent together are flushed together. No branch starves the ones below it:
            // commands stop when the permits run out, and reading returns a permit.
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
                        // The caller may have given up while the command waited here.
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
                    // While an event is held the task reads nothing, so it cannot tell whether the server is silent.
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
            // The library below answers pings; binary frames are not part of the protocol.
            Some(Ok(_)) => {}
            Some(Err(error)) => return ControlFlow::Break(lost(&error)),
        }
        ControlFlow::Continue(())
    }

    fn dispatch(&mut self, frame: Utf8Bytes) {
        match serde_json::from_str::<Head>(&frame) {
            Ok(Head { id: Some(id), error }) => {
                if let Some((waiting, _permit)) = self.waiting.remove(&id) {
                    // The caller may have given up.
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

/// The part of a frame that tells its receiver.
#[derive(Deserialize)]
struct Head {
    id: Option<u64>,
    error: Option<Box<Problem>>,
}

/// Delivers the held event once there is room. Cancel-safe.
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

/// Takes the next command once it can be written, or flushes the previous ones. Cancel-safe.
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

/// Sends the close frame and reads to the end: dropping a connection with unread data resets it, and the last write may get
/// lost.
async fn say_goodbye(mut sink: Sink, mut stream: SplitStream<WebSocketStream<TcpStream>>) {
    if sink.close().await.is_ok() {
        while let Some(Ok(_)) = stream.next().await {}
    }
}

fn lost(error: &WsError) -> Closed {
    Closed::Lost { cause: error.to_string() }
}
