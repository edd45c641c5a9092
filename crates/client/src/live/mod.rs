//! A session that reconnects and resumes on its own.
//!
//! - here: [`Live`], the requests of the application
//! - [`Updates`], [`Update`]: the events for the application; [`ResumeState`]: the state that it stores in order to resume
//!   later
//! - [`LiveConfig`]: limits and delays
//! - `logs`, `outbox`, `cursors`, `catch_up`: the state of the session, without I/O
//! - `queue`: between the session's task and the application
//! - `session`: the task: connects, waits, reconnects
//! - `online`, `work`: the task while it has a connection
//!
//! The session signs the socket in before it requests the changes since the token: changes in between arrive as events. It
//! reads the log of each conversation whose head is ahead of the delivered entries, or whose events have a gap.

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

/// Capacity of the channel of requests to the session's task.
const CONTROLS_MAX: usize = 64;
/// Capacity of the channel of messages to the outbox.
const SENDS_HANDED_OVER_MAX: usize = 16;

/// A handle for requests to a live session. Clones share the session. It ends with [`Live::close`], or when every `Live` and
/// the [`Updates`] have been dropped.
#[derive(Debug, Clone)]
pub struct Live {
    controls: mpsc::Sender<Control>,
    sends: mpsc::Sender<Queued>,
    connection: watch::Receiver<Connection>,
}

impl Live {
    /// Starts to connect as the user who is signed in at `http`, and refreshes its tokens when they expire. Must be called
    /// within a tokio runtime.
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

    /// Sends a message and waits until it is durable. The session retries with the same client id until the server has
    /// acknowledged the message or refused it for good, however often the connection breaks. The error is the refusal, or
    /// the end of the session.
    ///
    /// Messages to one conversation arrive in the order of the calls. Dropping the future ends the retries; the outcome is
    /// then unknown, and another send with the same client id finds it out.
    pub async fn send(
        &self,
        conversation: ConversationId,
        message: impl Into<SendMessage>,
    ) -> Result<Message, Error> {
        self.enqueue(conversation, message).await?.acknowledged().await
    }

    /// Like [`Live::send`], but returns as soon as the position of the message in the order is fixed.
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

    /// The user has read up to `seq`. The server learns of it after a short delay, or after the next connect.
    pub async fn read(&self, conversation: ConversationId, seq: Seq) -> Result<(), Error> {
        self.control(Control::Read(conversation, seq)).await
    }

    /// The application has received everything up to `seq`. Needed only if
    /// [`acknowledge_after`](LiveConfig::acknowledge_after) is off.
    pub async fn delivered(&self, conversation: ConversationId, seq: Seq) -> Result<(), Error> {
        self.control(Control::Delivered(conversation, seq)).await
    }

    /// The user has started or stopped typing. Dropped without a connection.
    pub async fn typing(&self, conversation: ConversationId, typing: bool) -> Result<(), Error> {
        self.control(Control::Typing(Typing { conversation_id: conversation, typing })).await
    }

    /// Replaces the users whose presence is watched. Their presence arrives now, after each connect, and when it changes. At
    /// most [`PRESENCE_WATCHED_MAX`](godwit_protocol::limits::PRESENCE_WATCHED_MAX).
    pub async fn watch_presence(&self, users: Vec<UserId>) -> Result<(), Error> {
        self.control(Control::WatchPresence(users)).await
    }

    /// The state of the connection.
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

    /// Ends the session after the messages in flight and the cursors have been acknowledged, or after two seconds. Messages
    /// that were not in flight fail.
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

/// A message whose position in the order is fixed. Dropping it ends the attempts to send it.
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

    /// Waits until the message is durable or refused for good.
    pub async fn acknowledged(self) -> Result<Message, Error> {
        self.acknowledged.await.unwrap_or_else(|_| Err(stopped(&self.connection)))
    }
}

fn stopped(connection: &watch::Receiver<Connection>) -> Error {
    match *connection.borrow() {
        Connection::Stopped(reason) => Error::Stopped(reason),
        // The task ended without a reason: the runtime is shutting down.
        _ => Error::Stopped(StopReason::ByApplication),
    }
}
