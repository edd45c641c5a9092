//! What happens to a request before it is routed: from where it is, and by which connection.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use hyper::body::{Body as _, Incoming};
use hyper::service::Service;
use tower::util::{Oneshot, ServiceExt};

use super::bodies::Bodies;
use super::peer::Peer;
use super::places::{Gate, Places};
use crate::network::ClientAddress;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// What all connections have in common.
#[derive(Debug, Clone)]
pub(super) struct Front {
    pub(super) trust_forwarded_for: bool,
    pub(super) places: Arc<Places>,
    pub(super) bodies: Arc<Bodies>,
}

impl Front {
    /// The service of one connection, which has this place.
    pub(super) fn service(
        &self,
        from: IpAddr,
        place: u64,
        gate: Arc<Gate>,
        router: Router,
    ) -> ConnectionService {
        let peer = Peer { id: place, gate, places: self.places.clone(), bodies: self.bodies.clone() };
        ConnectionService { trust_forwarded_for: self.trust_forwarded_for, from, peer, router }
    }
}

pub(super) struct ConnectionService {
    trust_forwarded_for: bool,
    from: IpAddr,
    peer: Peer,
    router: Router,
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response;
    type Error = Infallible;
    type Future = Serving;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.peer.requested(!request.body().is_end_stream());
        let mut request = request.map(Body::new);
        let address = if self.trust_forwarded_for { forwarded_for(request.headers()) } else { None };
        request.extensions_mut().insert(ClientAddress(address.unwrap_or(self.from)));
        request.extensions_mut().insert(self.peer.clone());
        Serving { answer: Box::pin(self.router.clone().oneshot(request)), peer: self.peer.clone() }
    }
}

/// A request that is being answered.
pub(super) struct Serving {
    answer: Pin<Box<Oneshot<Router, Request>>>,
    peer: Peer,
}

impl Future for Serving {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(self.answer.as_mut().poll(context));
        self.peer.answered();
        Poll::Ready(answer)
    }
}

/// The address that the proxy in front of us has seen: the last one, because those before it are what the client claims.
fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all(FORWARDED_FOR).iter().next_back()?.to_str().ok()?;
    last.rsplit(',').next()?.trim().parse().ok()
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
}
