//! The one task of a socket.

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
use crate::admission::Place;
use crate::listener::Peer;
use crate::network::ClientAddress;
use crate::problem::ApiError;
use crate::state::ServerState;

/// Frames in a row that a client may send and the server not understand; and all frames of one that does not sign in.
const BAD_FRAMES_MAX: u32 = 100;
/// How long nothing more is read from a client whose frame a rate limit refused. Otherwise refusals would cost the server as
/// much as what is refused, and the client nothing.
const REFUSED_PAUSE: Duration = Duration::from_millis(20);
/// How long what a client has sent in a row is dealt with before others have their turn.
const TURN: Duration = Duration::from_millis(1);
/// How long a client has to take its close frame and answer it.
const CLOSE_LINGER: Duration = Duration::from_secs(1);

/// What a connection knows besides its wire.
pub(super) struct Connection {
    pub(super) state: ServerState,
    pub(super) socket: Arc<Socket>,
    pub(super) address: ClientAddress,
    pub(super) caller: Option<Principal>,
    pub(super) peer: Option<Peer>,
    bad_frames: u32,
}

/// What came of a frame.
enum Received {
    Nothing,
    /// The client is leaving; with what it says goodbye.
    Gone(Bytes),
    Close(CloseCode),
}

/// Why nothing more is written.
enum Stop {
    /// The client is not there any more.
    Broken,
    Close(CloseCode),
}

/// What a handshake brings along.
pub(super) struct Handshake {
    pub(super) address: ClientAddress,
    pub(super) peer: Option<Peer>,
    /// What the socket is signed in with, and the place that it has until it is.
    pub(super) token: Option<(String, Place)>,
}

/// Serves a socket until it closes.
pub(super) async fn run(state: ServerState, wire: Wire, handshake: Handshake) {
    let Handshake { address, peer, token } = handshake;
    let socket = state.hub.open();
    let _forget = ForgetOnDrop { state: state.clone(), socket: socket.clone() };
    let mut connection = Connection { state, socket, address, caller: None, peer, bad_frames: 0 };
    match token {
        None => connection.push(frames::event(&Event::Hello(connection.hello(None)))),
        Some((token, place)) => {
            // The session may have ended between the handshake and now.
            if let Err(error) = connection.sign_in_with_hello(&token).await {
                return close(wire, commands::sign_in_failed(&error)).await;
            }
            drop(place);
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
            // Who asks for much gets it as fast as they read it: the reply to what is asked next must fit too.
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
                    // What comes from a session that has ended is not carried out any more.
                    Some(Ok(_)) if socket.outgoing.is_closed() => {}
                    Some(Ok(message)) => {
                        self.state.hub.heard(&socket);
                        let began = Instant::now();
                        // Boxed, so that an idle socket does not carry the room that commands need.
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
        match commands::execute(self, frame).await {
            Ok(Outcome::Reply(reply)) => self.push(frames::ok(id, &reply)),
            Ok(Outcome::Later) => {}
            // Nobody in particular may not try for ever, with one token after the other.
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

    /// A frame that brings nobody closer to anything. Who sends nothing else is cut off.
    fn useless_frame(&mut self) -> Received {
        self.bad_frames += 1;
        if self.bad_frames > BAD_FRAMES_MAX { Received::Close(CloseCode::Flood) } else { Received::Nothing }
    }

    /// A ping of the protocol, or a pong, which has nothing to answer. There is no way to refuse one: those that are too many are
    /// not answered, and nothing is read for a moment.
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

    /// Answers a frame that makes no sense.
    fn bad_frame(&mut self, id: Option<u64>, error: ApiError) -> Received {
        self.push(frames::error(id, error));
        self.useless_frame()
    }

    /// The hello goes into the queue before the socket is known to the hub: it is the first frame, whatever happens.
    async fn sign_in_with_hello(&mut self, token: &str) -> Result<(), ApiError> {
        let (caller, signed_in) = self.identify(token).await?;
        self.push(frames::event(&Event::Hello(self.hello(Some(signed_in)))));
        self.admit(token, caller).await
    }

    fn push(&self, frame: Bytes) {
        self.socket.outgoing.push(frame);
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

/// Carries out a command, and goes on writing meanwhile: some take a while, and neither holds up the other.
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
                    // What was begun is finished; then it is found again that there is nothing to write any more.
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

/// Writes a step of the queue, unless the socket must be closed first.
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

/// Says why, and gives the client a moment to read it: a connection that is cut with data unread loses the close frame.
async fn close(wire: Wire, code: CloseCode) {
    end(wire, frame::close(code)).await;
}

/// Writes a last frame, and waits until the client has gone.
async fn end(mut wire: Wire, last: Bytes) {
    let goodbye = async {
        if wire.close(last).await.is_ok() {
            // Not parsed: what broke the protocol is still there, and a connection that is closed with bytes unread is
            // reset, which takes the close frame from the client.
            wire.discard().await;
        }
    };
    // Whether the client took it makes no difference any more.
    let _ = tokio::time::timeout(CLOSE_LINGER, goodbye).await;
}

/// Takes the socket out of the hub however its task ends.
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
                    tracing::warn!(%user, %error, "last seen could not be stored");
                }
            });
        }
    }
}
