//! The events of a socket.

use std::fmt;
use std::sync::{Arc, OnceLock};

use godwit_protocol::socket::Event;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::Closed;

/// The events of one socket, in order. After it is dropped, events are discarded and the socket stays open.
pub struct Events {
    // Frames rather than events: an event is large, and a queue preallocates several items.
    frames: mpsc::Receiver<Utf8Bytes>,
    closed: Arc<OnceLock<Closed>>,
}

impl Events {
    pub(super) fn new(frames: mpsc::Receiver<Utf8Bytes>, closed: Arc<OnceLock<Closed>>) -> Self {
        Self { frames, closed }
    }

    /// The next event; `None` when the socket is closed and all events have been taken. Cancel-safe.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            let frame = self.frames.recv().await?;
            match serde_json::from_str(&frame) {
                Ok(event) => return Some(event),
                // Newer servers have events that this library does not know.
                Err(error) => tracing::debug!(%error, "event skipped"),
            }
        }
    }

    /// Why the socket is closed. `None` while it is open.
    pub fn closed(&self) -> Option<&Closed> {
        self.closed.get()
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("waiting", &self.frames.len()).finish_non_exhaustive()
    }
}
