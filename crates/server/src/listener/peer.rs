//! A connection as the handlers of its requests see it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use godwit_protocol::UserId;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::bodies::{Bodies, BodyMeter};
use super::slots::{ConnectionSlots, Control};
use crate::network::ClientAddress;

/// The connection of a request, in the extensions of the request. It may have closed already.
#[derive(Debug, Clone)]
pub struct Peer {
    pub(super) id: u64,
    pub(super) control: Arc<Control>,
    pub(super) slots: Arc<ConnectionSlots>,
    pub(super) bodies: Arc<Bodies>,
}

/// While this is held, the connection waits for the server.
#[derive(Debug)]
pub struct Busy(Peer);

impl Peer {
    /// A request of this user was accepted: the connection is now evicted after anonymous ones.
    pub fn authenticated(&self, user: UserId) {
        self.control.set_caller(Some(user));
        self.slots.authenticated(self.id, user);
    }

    /// The socket is signed in, so it is not evicted any more. False if there are too many signed-in sockets.
    pub fn signed_in(&self) -> bool {
        self.control.is_signed_in() || self.slots.signed_in(self.id)
    }

    /// The server is working, so the client is not the slow side.
    pub fn busy(&self) -> Busy {
        self.is_busy();
        Busy(self.clone())
    }

    /// Makes the connection the socket of a client at this address. False if there is no room for it.
    pub fn becomes_socket(&self, from: ClientAddress) -> bool {
        self.slots.becomes_socket(self.id, from)
    }

    /// The body of a request on this connection. The bytes of an unauthenticated request are counted.
    pub(crate) fn receive(&self, body: Body, anonymous_from: Option<ClientAddress>) -> Body {
        let meter = anonymous_from.map(|from| self.bodies.begin(from, &self.control));
        Body::new(Received { body, meter, peer: self.clone() })
    }

    pub(super) fn requested(&self, has_body: bool) {
        // The rest of the previous answer need not be written yet.
        self.control.take_answer_end();
        self.control.set_caller(None);
        if !self.control.is_signed_in() {
            self.slots.requested(self.id, has_body);
        }
    }

    fn answered(&self) {
        if !self.control.is_signed_in() {
            self.slots.answered(self.id, self.slots.now());
        }
    }

    fn is_busy(&self) {
        if !self.control.is_signed_in() {
            self.slots.is_busy(self.id);
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.answered();
    }
}

/// A body that counts its bytes and reports when it is complete.
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
        // The caller must see the end itself, to know that the body is complete.
        false
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
