//! Request bodies that are not read to their end when the answer is ready, because the token was wrong or the body too
//! large.
//!
//! The server reads and drops the rest of a small body, and the connection stays open. Otherwise the answer says
//! `Connection: close`, and the connection [lingers](super::connection): closing it with unread bytes would reset it, and
//! the reset can overtake the answer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::HttpBody;
use axum::http::HeaderMap;
use axum::http::header::EXPECT;
use bytes::Bytes;
use futures_util::future::poll_fn;
use godwit_protocol::limits::REQUEST_BODY_BYTES_MAX;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::timeout;

/// How long an answer waits for the rest of a body.
const REST_WITHIN: Duration = Duration::from_millis(100);

/// A body that can be read to its end after the handler has dropped it.
pub(super) struct SharedBody(Arc<Mutex<Incoming>>);

/// The second handle of a [`SharedBody`].
pub(super) struct Rest {
    body: Arc<Mutex<Incoming>>,
    /// The client waits for `100 Continue` before it sends the body, and gets the final answer instead.
    is_held_back: bool,
}

impl SharedBody {
    pub(super) fn new(body: Incoming, headers: &HeaderMap) -> (Self, Rest) {
        let body = Arc::new(Mutex::new(body));
        (Self(body.clone()), Rest { body, is_held_back: headers.contains_key(EXPECT) })
    }
}

impl Rest {
    /// True if the body has been read to its end. Reads the rest if little is missing.
    pub(super) async fn is_read(&self) -> bool {
        if lock(&self.body).is_end_stream() {
            return true;
        }
        let is_little = lock(&self.body).size_hint().lower() <= REQUEST_BODY_BYTES_MAX as u64;
        is_little && !self.is_held_back && timeout(REST_WITHIN, self.read()).await.unwrap_or(false)
    }

    async fn read(&self) -> bool {
        let mut bytes = 0;
        while bytes <= REQUEST_BODY_BYTES_MAX {
            match poll_fn(|context| Pin::new(&mut *lock(&self.body)).poll_frame(context)).await {
                None => return true,
                Some(Ok(frame)) => bytes += frame.data_ref().map_or(0, Bytes::len),
                Some(Err(_)) => return false,
            }
        }
        false
    }
}

impl HttpBody for SharedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut *lock(&self.0)).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.0).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        lock(&self.0).size_hint()
    }
}

fn lock(body: &Mutex<Incoming>) -> MutexGuard<'_, Incoming> {
    body.lock().unwrap_or_else(PoisonError::into_inner)
}
