//! Prepares a request for the router: adds the address of its client, and its connection.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::service::Service;
use tower::util::ServiceExt;

use super::bodies::Bodies;
use super::body::{Rest, SharedBody};
use super::connection::Linger;
use super::forwarding::Advice;
use super::peer::Peer;
use super::slots::{ConnectionSlots, Control, Moment};
use crate::network::ClientAddress;

pub(super) const FORWARDED_FOR: &str = "x-forwarded-for";

/// Requests in a row on one connection after which its task yields.
const TURN: u32 = 8;

/// The parts that all connections share.
#[derive(Debug, Clone)]
pub(super) struct Front {
    pub(super) trust_forwarded_for: bool,
    pub(super) slots: Arc<ConnectionSlots>,
    pub(super) bodies: Arc<Bodies>,
    pub(super) advice: Arc<Advice>,
}

impl Front {
    /// The service of one connection, which has this slot.
    pub(super) fn service(
        &self,
        from: IpAddr,
        slot: u64,
        control: Arc<Control>,
        linger: Linger,
        router: Router,
    ) -> ConnectionService {
        let peer = Peer { id: slot, control, slots: self.slots.clone(), bodies: self.bodies.clone() };
        ConnectionService { front: self.clone(), from, peer, linger, router, requests: AtomicU32::new(1) }
    }

    /// The address of the client.
    fn address(&self, from: IpAddr, headers: &HeaderMap) -> IpAddr {
        if !self.trust_forwarded_for {
            self.advice.untrusting(from, headers);
            return from;
        }
        forwarded_for(headers).unwrap_or_else(|| {
            self.advice.trusting(from);
            from
        })
    }
}

pub(super) struct ConnectionService {
    front: Front,
    from: IpAddr,
    peer: Peer,
    linger: Linger,
    router: Router,
    requests: AtomicU32,
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let (mut request, rest) = with_rest(request);
        self.peer.requested(rest.is_some());
        let address = self.front.address(self.from, request.headers());
        request.extensions_mut().insert(ClientAddress(address));
        request.extensions_mut().insert(self.peer.clone());
        let answer = self.router.clone().oneshot(request);
        let (peer, linger) = (self.peer.clone(), self.linger.clone());
        let ends_turn = self.requests.fetch_add(1, Ordering::Relaxed).is_multiple_of(TURN);
        Box::pin(async move {
            if ends_turn {
                tokio::task::yield_now().await;
            }
            let answer = match rest {
                None => answer.await,
                Some(rest) => close_unless_read(answer, rest, linger).await,
            }?;
            let whose = Answer { at: peer.slots.now(), peer };
            Ok(answer.map(|body| {
                whose.begins(&body);
                Body::new(Answered { body, _answer: whose })
            }))
        })
    }
}

/// An answer in progress. The connection counts as waiting for its client once the answer is written, and not when it is
/// ready: a large one takes a while on a slow link.
#[derive(Debug)]
struct Answer {
    peer: Peer,
    at: Moment,
}

impl Answer {
    /// Bodies are complete when they are returned, so they know their size.
    fn begins(&self, body: &Body) {
        let bytes = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        self.peer.slots.answer_begins(&self.peer.control, bytes);
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.peer.control.answer_ends(self.at);
    }
}

/// The body of an answer. Hyper drops it when it has taken all of it, or has given up.
struct Answered {
    body: Body,
    _answer: Answer,
}

impl HttpBody for Answered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The request, with a second handle of its body if it has one.
fn with_rest(request: Request<Incoming>) -> (Request, Option<Rest>) {
    if request.body().is_end_stream() {
        return (request.map(Body::new), None);
    }
    let (parts, body) = request.into_parts();
    let (body, rest) = SharedBody::new(body, &parts.headers);
    (Request::from_parts(parts, Body::new(body)), Some(rest))
}

/// After an unread body, the rest of the connection cannot be parsed.
async fn close_unless_read(
    answer: impl Future<Output = Result<Response, Infallible>>,
    rest: Rest,
    linger: Linger,
) -> Result<Response, Infallible> {
    let mut response = answer.await?;
    if !rest.is_read().await {
        linger.ask();
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

/// The address that the proxy has seen: the last one, because the client can forge those before it.
fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all(FORWARDED_FOR).iter().next_back()?.to_str().ok()?;
    parse_forwarded(last.rsplit(',').next()?.trim())
}

/// An address with or without a port, which some proxies add.
fn parse_forwarded(text: &str) -> Option<IpAddr> {
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    text.parse()
        .ok()
        .or_else(|| text.parse::<SocketAddr>().ok().map(|with_port| with_port.ip()))
        .or_else(in_brackets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_forwarded_address_counts() {
        let mut headers = HeaderMap::new();
        assert_eq!(forwarded_for(&headers), None);
        headers.append(FORWARDED_FOR, "198.51.100.7".parse().unwrap());
        headers.append(FORWARDED_FOR, "203.0.113.9, 192.0.2.1".parse().unwrap());
        assert_eq!(forwarded_for(&headers), Some("192.0.2.1".parse().unwrap()));
        headers.append(FORWARDED_FOR, "unknown".parse().unwrap());
        assert_eq!(forwarded_for(&headers), None);
    }

    #[test]
    fn a_forwarded_address_may_have_a_port() {
        for (text, address) in [
            ("203.0.113.9", Some("203.0.113.9")),
            ("203.0.113.9:51234", Some("203.0.113.9")),
            ("198.51.100.7:80, 203.0.113.9:51234", Some("203.0.113.9")),
            ("2001:db8::1", Some("2001:db8::1")),
            ("[2001:db8::1]", Some("2001:db8::1")),
            ("[2001:db8::1]:443", Some("2001:db8::1")),
            ("[203.0.113.9]", None),
            ("203.0.113.9:", None),
            ("203.0.113.9:99999", None),
            ("[2001:db8::1]:", None),
            ("", None),
        ] {
            let headers = HeaderMap::from_iter([(FORWARDED_FOR.parse().unwrap(), text.parse().unwrap())]);
            let expected: Option<IpAddr> = address.map(|address| address.parse().unwrap());
            assert_eq!(forwarded_for(&headers), expected, "{text}");
        }
    }
}
