//! A connection as the handlers of its requests see it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use godwit_protocol::UserId;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::bodies::{Bodies, BodyMeter};
use super::places::{Gate, Places};
use crate::network::ClientAddress;

/// The connection that a request came by, in the extensions of the request. It may be gone already.
#[derive(Debug, Clone)]
pub struct Peer {
    pub(super) id: u64,
    pub(super) gate: Arc<Gate>,
    pub(super) places: Arc<Places>,
    pub(super) bodies: Arc<Bodies>,
}

/// The connection waits for the server while this is held.
#[derive(Debug)]
pub struct Busy(Peer);

impl Peer {
    /// A request of this user was accepted: the connection is evicted after those on which there was none.
    pub fn authenticated(&self, user: UserId) {
        self.places.authenticated(self.id, user);
    }

    /// The socket is signed in: it is not evicted any more. False when there are too many of those already.
    pub fn signed_in(&self) -> bool {
        self.gate.is_signed_in() || self.places.signed_in(self.id)
    }

    /// The server works for it, and it is not the client that is slow.
    pub fn busy(&self) -> Busy {
        self.is_busy();
        Busy(self.clone())
    }

    /// From now on this is the socket of a client at this address; false when there is no room for it.
    pub fn becomes_socket(&self, from: ClientAddress) -> bool {
        self.places.becomes_socket(self.id, from)
    }

    /// The body of a request on this connection, with its bytes counted where nobody is known to send it.
    pub(crate) fn receive(&self, body: Body, anonymous_from: Option<ClientAddress>) -> Body {
        let meter = anonymous_from.map(|from| self.bodies.begin(from, &self.gate));
        Body::new(Received { body, meter, peer: self.clone() })
    }

    pub(super) fn requested(&self, has_body: bool) {
        // What is left of the answer before need not be written yet.
        self.gate.take_answer_end();
        if !self.gate.is_signed_in() {
            self.places.requested(self.id, has_body);
        }
    }

    fn answered(&self) {
        if !self.gate.is_signed_in() {
            self.places.answered(self.id, self.places.now());
        }
    }

    fn is_busy(&self) {
        if !self.gate.is_signed_in() {
            self.places.is_busy(self.id);
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.answered();
    }
}

/// A body that says how much of it there is, and when it is complete.
struct Received {
    body: Body,
    meter: Option<BodyMeter>,
    peer: Peer,
}

impl HttpBody for Received {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            None => self.peer.is_busy(),
            Some(Ok(frame)) => {
                if let (Some(data), Some(meter)) = (frame.data_ref(), &self.meter) {
                    meter.add(data.len());
                }
            }
            Some(Err(_)) => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        // The end itself must be seen, to know that the body is complete.
        false
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
