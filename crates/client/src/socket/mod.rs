//! One WebSocket connection.
//!
//! - here: [`Socket`], the handle that sends commands
//! - `connect`: opens the connection, up to the hello frame
//! - `commands`: one method per command
//! - [`Events`]: the events from the server
//! - [`Closed`]: why the socket closed
//! - `connection`: the task of a socket
//!
//! A socket is lightweight, because one process may have thousands: small buffers that grow on demand, one task, and one
//! timer, which detects a silent server. It does not reconnect; [`Live`](crate::Live) does.

mod closed;
mod commands;
mod connect;
mod connection;
mod events;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use godwit_protocol::socket::{Command, CommandFrame, Hello, OkFrame};
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, Semaphore, mpsc, oneshot};
use tokio::time::timeout;

pub use closed::Closed;
pub use events::Events;

use self::connection::{Given, Outgoing, Reply};
use crate::Error;

#[derive(Clone)]
pub struct SocketConfig {
    /// Signs in with the handshake, which saves a round trip. Without a token, call [`Socket::sign_in`].
    pub access_token: Option<String>,
    /// From the first packet to the hello frame.
    pub connect_timeout: Duration,
    /// From the call to the reply, including the wait for a permit.
    pub command_timeout: Duration,
    /// The capacity of the queue of events. While it is full the socket is not read, and the server eventually closes it:
    /// take events even while you wait for a reply.
    pub events_buffered_max: usize,
    /// Allocated for every socket. A larger frame grows the buffer for a while.
    pub read_buffer_bytes: usize,
}

impl Default for SocketConfig {
    fn default() -> Self {
        Self {
            access_token: None,
            connect_timeout: Duration::from_secs(10),
            command_timeout: Duration::from_secs(30),
            events_buffered_max: 256,
            read_buffer_bytes: 4 * 1024,
        }
    }
}

impl fmt::Debug for SocketConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SocketConfig")
            .field("signs_in", &self.access_token.is_some())
            .field("connect_timeout", &self.connect_timeout)
            .field("command_timeout", &self.command_timeout)
            .field("events_buffered_max", &self.events_buffered_max)
            .field("read_buffer_bytes", &self.read_buffer_bytes)
            .finish()
    }
}

/// Sends commands over one connection. Clones share it; it closes when the last one is dropped.
#[derive(Clone)]
pub struct Socket {
    outgoing: mpsc::Sender<Outgoing>,
    shared: Arc<Shared>,
}

struct Shared {
    hello: Hello,
    closed: Arc<OnceLock<Closed>>,
    next_id: AtomicU64,
    /// One permit per command in flight. The permit goes with the command and returns with its reply, so a server that does
    /// not answer cannot grow the table of waiting commands.
    in_flight: Arc<Semaphore>,
    /// Held while a command waits for a permit and is handed over, so that commands are sent in the order of the calls.
    turn: Mutex<()>,
    command_timeout: Duration,
}

impl Socket {
    pub fn hello(&self) -> &Hello {
        &self.shared.hello
    }

    /// Why the socket is closed. `None` while it is open.
    pub fn closed(&self) -> Option<&Closed> {
        self.shared.closed.get()
    }

    /// Waits until the socket is closed.
    pub async fn wait_closed(&self) -> Closed {
        self.outgoing.closed().await;
        self.closed_reason()
    }

    /// Sends a close frame and waits until the connection is down.
    pub async fn close(&self) -> Closed {
        // If it cannot be sent, the connection is down already.
        let _ = self.outgoing.send(Outgoing::Close).await;
        self.wait_closed().await
    }

    /// Sends any command and waits for its reply.
    pub async fn command<T: DeserializeOwned>(&self, command: Command) -> Result<T, Error> {
        let operation = command.name();
        match timeout(self.shared.command_timeout, self.exchange(command)).await {
            Ok(Ok(Reply::Ok(frame))) => serde_json::from_str::<OkFrame<T>>(&frame)
                .map(|reply| reply.ok)
                .map_err(|source| Error::decode(operation, source)),
            Ok(Ok(Reply::Error(problem))) => Err(Error::Api(problem)),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(Error::Timeout { operation: operation.to_owned() }),
        }
    }

    async fn exchange(&self, command: Command) -> Result<Reply, Error> {
        let shared = &self.shared;
        let operation = command.name();
        let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
        let frame = serde_json::to_string(&CommandFrame { id, command })
            .map_err(|source| Error::decode(operation, source))?;
        let bytes_max = shared.hello.limits.frame_bytes_max;
        if frame.len() > bytes_max {
            return Err(Error::FrameTooLarge { bytes: frame.len(), bytes_max });
        }
        let closed = || Error::Closed(self.closed_reason());
        let turn = shared.turn.lock().await;
        let permit = shared.in_flight.clone().acquire_owned().await.map_err(|_| closed())?;
        let (reply, answer) = oneshot::channel();
        let given = Given { id, frame: frame.into(), reply, permit };
        self.outgoing.send(Outgoing::Command(Box::new(given))).await.map_err(|_| closed())?;
        drop(turn);
        answer.await.map_err(|_| closed())
    }

    /// The reason is set before the channels close, so it is present here.
    fn closed_reason(&self) -> Closed {
        self.closed().cloned().unwrap_or(Closed::ByClient)
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").field("closed", &self.closed()).finish_non_exhaustive()
    }
}
