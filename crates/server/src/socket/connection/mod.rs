//! The task of a socket: reads commands, and writes the frames of its queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use godwit_delivery::{Socket, Step, frame};
use godwit_domain::sessions::Principal;
use godwit_protocol::ErrorCode;
use godwit_protocol::limits::{
    COMMANDS_IN_FLIGHT_MAX, FRAME_BYTES_MAX, PAGE_MAX, TEXT_BYTES_MAX, TEXT_CHARS_MAX,
};
use godwit_protocol::socket::{CloseCode, Event, Hello, HelloLimits, SignedInSocket};
use tokio::sync::Notify;

use super::commands::{self, Outcome};
use super::frames;
use super::wire::{Message, Violation, Wire};
use crate::admission::fair::Turn;
use crate::listener::Peer;
use crate::network::ClientAddress;
use crate::problem::ApiError;
use crate::state::ServerState;

/// Consecutive frames that the server does not understand; and all frames of a client that does not sign in.
const BAD_FRAMES_MAX: u32 = 100;
/// The pause in reading after a rate limit has refused a frame. Without it, refusals would cost the server as much as
/// commands, and the client nothing.
const REFUSED_PAUSE: Duration = Duration::from_millis(20);
/// How long consecutive frames of a client are handled before its task yields.
const TURN: Duration = Duration::from_millis(1);
/// How long a client has to read its close frame and answer it.
const CLOSE_LINGER: Duration = Duration::from_secs(1);

/// The state of a connection besides its wire.
pub(super) struct Connection {
    pub(super) state: ServerState,
    pub(super) socket: Arc<Socket>,
    pub(super) address: ClientAddress,
    pub(super) caller: Option<Principal>,
    pub(super) peer: Option<Peer>,
    bad_frames: u32,
}

/// The result of a frame.
enum Received {
    Nothing,
    /// The client closes the connection; contains the echo of its close frame.
    Gone(Bytes),
    Close(CloseCode),
}

/// Why writing has ended.
enum Stop {
    /// The connection is broken.
    Broken,
    Close(CloseCode),
}

/// The data of a handshake.
pub(super) struct Handshake {
    pub(super) address: ClientAddress,
    pub(super) peer: Option<Peer>,
    /// The token of the handshake, and the turn that the socket holds until it is signed in.
    pub(super) token: Option<(String, Turn)>,
}

/// Serves a socket until it closes.
pub(super) async fn run(state: ServerState, wire: Wire, handshake: Handshake) {
    let Handshake { address, peer, token } = handshake;
    let socket = state.hub.open();
    let _forget = ForgetOnDrop { state: state.clone(), socket: socket.clone() };
    let mut connection = Connection { state, socket, address, caller: None, peer, bad_frames: 0 };
    match token {
        None => connection.push(frames::event(&Event::Hello(connection.hello(None)))),
        Some((token, turn)) => {
            // The session may have ended since the handshake.
            if let Err(error) = connection.sign_in_with_hello(&token).await {
                return close(wire, commands::sign_in_failed(&error)).await;
            }
            drop(turn);
        }
    }
    connection.serve(wire).await;
}

impl Connection {
    async fn serve(mut self, mut wire: Wire) {
        let socket = self.socket.clone();
        let mut spent = Duration::ZERO;
        let code = loop {
            if self.caller.is_some() {
                wire.signed_in();
            }
            // Backpressure: a client gets replies as fast as it reads them, and the queue must have room for the next reply.
            let takes_commands =
                socket.outgoing.owed() < COMMANDS_IN_FLIGHT_MAX && !socket.outgoing.is_half_full();
            tokio::select! {
                step = socket.outgoing.next() => match step {
                    Step::Close(code) => break code,
                    Step::Write { frames, ping } => match write_out(&mut wire, &socket, frames, ping).await {
                        Ok(()) => {}
                        Err(Stop::Broken) => return,
                        Err(Stop::Close(code)) => break code,
                    },
                },
                incoming = wire.receive(), if takes_commands => match incoming {
                    None => return,
                    Some(Err(Violation::Protocol)) => break CloseCode::Protocol,
                    Some(Err(Violation::TooLarge)) => break CloseCode::TooLarge,
                    Some(Err(Violation::NotUtf8)) => break CloseCode::NotUtf8,
                    // Commands of a session that has ended are not executed any more.
                    Some(Ok(_)) if socket.outgoing.is_closed() => {}
                    Some(Ok(message)) => {
                        self.state.hub.heard(&socket);
                        let began = Instant::now();
                        // Boxed, so that an idle socket does not hold the memory that commands need.
                        match Box::pin(while_writing(&mut wire, &socket, self.receive(message))).await {
                            Received::Nothing => {}
                            Received::Gone(goodbye) => return end(wire, frame::close_too(&goodbye)).await,
                            Received::Close(code) => break code,
                        }
                        spent += began.elapsed();
                        if spent >= TURN && wire.has_more() {
                            tokio::task::yield_now().await;
                            spent = Duration::ZERO;
                        }
                    }
                },
            }
        };
        close(wire, code).await;
    }

    async fn receive(&mut self, message: Message) -> Received {
        let text = match message {
            Message::Text(text) => text,
            Message::Binary => return self.bad_frame(None, ApiError::new(ErrorCode::BinaryFrame)),
            Message::Ping(payload) => return self.pinged(Some(&payload)).await,
            Message::Pong => return self.pinged(None).await,
            Message::Close(goodbye) => return Received::Gone(goodbye),
        };
        let frame = match frames::parse(&text) {
            Ok(frame) => frame,
            Err((id, error)) => return self.bad_frame(id, error),
        };
        let id = frame.id;
        match commands::execute(self, frame, text.len()).await {
            Ok(Outcome::Reply(reply)) => self.push(reply),
            Ok(Outcome::Later) => {}
            // An anonymous client may not try token after token forever.
            Err(error) if self.caller.is_none() => return self.bad_frame(Some(id), error),
            Err(error) => {
                let is_refused = error.code() == ErrorCode::RateLimited;
                self.push(frames::error(Some(id), error));
                if is_refused {
                    tokio::time::sleep(REFUSED_PAUSE).await;
                }
            }
        }
        if self.caller.is_some() {
            self.bad_frames = 0;
            return Received::Nothing;
        }
        self.useless_frame()
    }

    /// Counts a useless frame. A client that sends nothing else is disconnected.
    fn useless_frame(&mut self) -> Received {
        self.bad_frames += 1;
        if self.bad_frames > BAD_FRAMES_MAX { Received::Close(CloseCode::Flood) } else { Received::Nothing }
    }

    /// Answers a ping of the protocol; a pong needs no answer. A ping cannot be refused: excess ones are not answered, and
    /// reading pauses for a moment.
    async fn pinged(&mut self, payload: Option<&[u8]>) -> Received {
        if self.caller.is_some_and(|caller| self.state.rates.check_pings(caller.user_id).is_err()) {
            tokio::time::sleep(REFUSED_PAUSE).await;
            return Received::Nothing;
        }
        if let Some(payload) = payload {
            self.push(frame::pong(payload));
        }
        if self.caller.is_none() { self.useless_frame() } else { Received::Nothing }
    }

    /// Answers an invalid frame.
    fn bad_frame(&mut self, id: Option<u64>, error: ApiError) -> Received {
        self.push(frames::error(id, error));
        self.useless_frame()
    }

    /// Queues the hello before it registers the socket with the hub, so that it is always the first frame.
    async fn sign_in_with_hello(&mut self, token: &str) -> Result<(), ApiError> {
        let (caller, signed_in) = self.identify(token).await?;
        self.push(frames::event(&Event::Hello(self.hello(Some(signed_in)))));
        self.admit(token, caller).await
    }

    fn push(&self, frame: Bytes) {
        self.socket.outgoing.answer(frame);
    }

    fn hello(&self, signed_in: Option<SignedInSocket>) -> Hello {
        let config = self.state.hub.config();
        Hello {
            server_time: self.state.clock.now(),
            heartbeat_ms: config.heartbeat_ms,
            sign_in_within_ms: config.sign_in_within_ms,
            signed_in,
            limits: HelloLimits {
                frame_bytes_max: FRAME_BYTES_MAX,
                text_bytes_max: TEXT_BYTES_MAX,
                text_chars_max: TEXT_CHARS_MAX,
                commands_in_flight_max: COMMANDS_IN_FLIGHT_MAX,
                page_max: PAGE_MAX,
            },
        }
    }
}

/// Runs a command while writing continues, because some commands take a while, and neither should delay the other.
async fn while_writing<T>(wire: &mut Wire, socket: &Socket, command: impl Future<Output = T>) -> T {
    let done = Notify::new();
    let command = async {
        let outcome = command.await;
        done.notify_one();
        outcome
    };
    let writing = async {
        loop {
            tokio::select! {
                biased;
                () = done.notified() => return,
                step = socket.outgoing.next() => match step {
                    // The command finishes first; then the main loop finds again that nothing can be written.
                    Step::Close(_) => return,
                    Step::Write { frames, ping } => {
                        if write_out(wire, socket, frames, ping).await.is_err() { return }
                    }
                },
            }
        }
    };
    tokio::join!(command, writing).0
}

/// Writes a step of the queue, unless the socket must close first.
async fn write_out(wire: &mut Wire, socket: &Socket, frames: Vec<Bytes>, ping: bool) -> Result<(), Stop> {
    let bytes = frames.iter().map(Bytes::len).sum();
    tokio::select! {
        written = write(wire, frames, ping) => written.map_err(|_| Stop::Broken)?,
        code = socket.outgoing.must_stop() => return Err(Stop::Close(code)),
    }
    socket.outgoing.written(bytes);
    Ok(())
}

async fn write(wire: &mut Wire, frames: Vec<Bytes>, ping: bool) -> std::io::Result<()> {
    wire.write(frames.into_iter().chain(ping.then(frame::ping))).await
}

/// Sends the reason and gives the client a moment to read it: closing a connection with unread data loses the close frame.
async fn close(wire: Wire, code: CloseCode) {
    end(wire, frame::close(code)).await;
}

/// Writes a last frame, and waits until the client disconnects.
async fn end(mut wire: Wire, last: Bytes) {
    let goodbye = async {
        if wire.close(last).await.is_ok() {
            // Reads without parsing: the input may violate the protocol, and closing a connection with unread bytes resets
            // it, which loses the close frame.
            wire.discard().await;
        }
    };
    // From here on it does not matter whether the client has read it.
    let _ = tokio::time::timeout(CLOSE_LINGER, goodbye).await;
}

/// Removes the socket from the hub, however its task ends.
struct ForgetOnDrop {
    state: ServerState,
    socket: Arc<Socket>,
}

impl Drop for ForgetOnDrop {
    fn drop(&mut self) {
        self.state.hub.forget(&self.socket);
        if let Some((user, _)) = self.socket.owner() {
            let presence = self.state.app.presence.clone();
            tokio::spawn(async move {
                if let Err(error) = presence.went_offline(user).await {
                    tracing::warn!(%user, %error, "could not store last seen");
                }
            });
        }
    }
}

#[cfg(test)]
mod tests;
