//! A session that heals itself.
//!
//! - here: [`Live`], what the application asks for
//! - [`Updates`], [`Update`]: what it is told; [`ResumeState`]: what it keeps
//! - [`LiveConfig`]: the limits and the waits
//! - `logs`, `outbox`, `cursors`, `catch_up`: the book-keeping, each without input or output
//! - `queue`: between the session's task and the application
//! - `session`: the task: connects, waits, connects again
//! - `online`, `work`: the task while it has a connection
//!
//! The socket is signed in first and then asked what changed since the token: what happens in between comes as an event.
//! A conversation whose head is further than what was seen is read from its log, and so is one whose events have a gap.

mod catch_up;
mod config;
mod control;
mod cursors;
mod logs;
mod online;
mod outbox;
mod queue;
mod session;
mod state;
mod update;
mod updates;
mod work;

use std::sync::Arc;

use godwit_protocol::messages::{Message, SendMessage};
use godwit_protocol::socket::Typing;
use godwit_protocol::{ConversationId, Seq, UserId};
use tokio::sync::{mpsc, oneshot, watch};

pub use config::{Backoff, LiveConfig, StartAt};
pub use state::ResumeState;
pub use update::{Connection, StopReason, Update};
pub use updates::Updates;

use self::control::Control;
use self::outbox::Queued;
use self::queue::Queue;
use self::session::Session;
use crate::draft::addressed;
use crate::{Error, Http};

/// Requests that wait for the session's task.
const CONTROLS_MAX: usize = 64;
/// Messages that wait for a place in the outbox.
const SENDS_HANDED_OVER_MAX: usize = 16;

/// What the application asks of a live session. Clones share it. The session ends with [`Live::close`], or when every
/// `Live` and the [`Updates`] have been dropped.
#[derive(Debug, Clone)]
pub struct Live {
    controls: mpsc::Sender<Control>,
    sends: mpsc::Sender<Queued>,
    connection: watch::Receiver<Connection>,
}

impl Live {
    /// Begins to connect as the user who is signed in at `http`, whose tokens it refreshes when they expire. Must be
    /// called within a tokio runtime.
    pub fn start(http: Http, mut config: LiveConfig) -> (Self, Updates) {
        let state = config.resume.take().unwrap_or_default();
        let queue = Arc::new(Queue::new(config.updates_buffered_max));
        let (controls, controls_taken) = mpsc::channel(CONTROLS_MAX);
        let (sends, sends_taken) = mpsc::channel(SENDS_HANDED_OVER_MAX);
        let (connection_told, connection) = watch::channel(Connection::Connecting);
        let acknowledges = config.acknowledge_after.is_some();
        let updates = Updates::new(queue.clone(), state.clone(), acknowledges, controls.clone());
        let session = Session::new(http, config, state, queue, controls_taken, sends_taken, connection_told);
        tokio::spawn(session.run());
        (Self { controls, sends, connection }, updates)
    }

    /// Sends a message and waits until it is durable. It is sent again, with the same client id, until the server has
    /// acknowledged it or refused it for good, however often the connection breaks: the error is the refusal, or that
    /// the session has ended.
    ///
    /// Messages to one conversation arrive in the order in which they were given. Dropping the future ends the attempts;
    /// whether the message was sent is then unknown, and sending it again with the same client id finds out.
    pub async fn send(
        &self,
        conversation: ConversationId,
        message: impl Into<SendMessage>,
    ) -> Result<Message, Error> {
        self.enqueue(conversation, message).await?.acknowledged().await
    }

    /// Like [`Live::send`], but returns as soon as the message has its place in the order.
    pub async fn enqueue(
        &self,
        conversation: ConversationId,
        message: impl Into<SendMessage>,
    ) -> Result<Sending, Error> {
        let message = addressed(conversation, message);
        let client_id = message.client_id.clone();
        let (reply, acknowledged) = oneshot::channel();
        let queued = Queued { conversation_id: conversation, message, reply };
        self.sends.send(queued).await.map_err(|_| self.stopped())?;
        Ok(Sending { client_id, acknowledged, connection: self.connection.clone() })
    }

    /// The user has read up to `seq`. The server is told a little later, and also after a disconnect.
    pub async fn read(&self, conversation: ConversationId, seq: Seq) -> Result<(), Error> {
        self.control(Control::Read(conversation, seq)).await
    }

    /// The application has received up to `seq`. Only needed where
    /// [`acknowledge_after`](LiveConfig::acknowledge_after) is off.
    pub async fn delivered(&self, conversation: ConversationId, seq: Seq) -> Result<(), Error> {
        self.control(Control::Delivered(conversation, seq)).await
    }

    /// The user types, or has stopped. Forgotten while there is no connection.
    pub async fn typing(&self, conversation: ConversationId, typing: bool) -> Result<(), Error> {
        self.control(Control::Typing(Typing { conversation_id: conversation, typing })).await
    }

    /// Replaces the users whose presence is told: how it is with them now, after each connect, and when it changes. At
    /// most [`PRESENCE_WATCHED_MAX`](godwit_protocol::limits::PRESENCE_WATCHED_MAX).
    pub async fn watch_presence(&self, users: Vec<UserId>) -> Result<(), Error> {
        self.control(Control::WatchPresence(users)).await
    }

    /// How it stands with the connection.
    pub fn connection(&self) -> Connection {
        self.connection.borrow().clone()
    }

    /// Waits until the session is signed in.
    pub async fn online(&self) -> Result<(), Error> {
        let mut connection = self.connection.clone();
        let state = connection
            .wait_for(|state| matches!(state, Connection::Online | Connection::Stopped(_)))
            .await
            .map(|state| state.clone());
        match state {
            Ok(Connection::Online) => Ok(()),
            _ => Err(self.stopped()),
        }
    }

    /// Ends the session after the messages on their way and the cursors have been acknowledged, or after two seconds. Messages
    /// that were not on their way fail.
    pub async fn close(&self) {
        if self.controls.send(Control::Close).await.is_ok() {
            self.controls.closed().await;
        }
    }

    async fn control(&self, control: Control) -> Result<(), Error> {
        self.controls.send(control).await.map_err(|_| self.stopped())
    }

    fn stopped(&self) -> Error {
        stopped(&self.connection)
    }
}

/// A message that has its place in the order. Dropping it ends the attempts to send it.
#[derive(Debug)]
pub struct Sending {
    client_id: String,
    acknowledged: oneshot::Receiver<Result<Message, Error>>,
    connection: watch::Receiver<Connection>,
}

impl Sending {
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// Waits until the message is durable, or refused for good.
    pub async fn acknowledged(self) -> Result<Message, Error> {
        self.acknowledged.await.unwrap_or_else(|_| Err(stopped(&self.connection)))
    }
}

fn stopped(connection: &watch::Receiver<Connection>) -> Error {
    match *connection.borrow() {
        Connection::Stopped(reason) => Error::Stopped(reason),
        // The task is gone without a word: the runtime is shutting down.
        _ => Error::Stopped(StopReason::ByApplication),
    }
}
