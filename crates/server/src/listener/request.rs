//! What happens to a request before it is routed: from whom it is, and whether its connection has shown enough.

use std::cell::Cell;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::Service;
use tower::util::{Oneshot, ServiceExt};

use super::handshakes::{Gate, Handshakes, Newcomer};
use crate::rate::ClientAddress;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// What all connections have in common.
#[derive(Debug, Clone)]
pub(super) struct Front {
    pub(super) trust_forwarded_for: bool,
    pub(super) handshakes: Arc<Handshakes>,
}

impl Front {
    /// The service of one connection, which takes a place among the handshakes.
    pub(super) fn service(&self, peer: IpAddr, gate: Arc<Gate>, router: Router) -> ConnectionService {
        let newcomer = Cell::new(Some(self.handshakes.enter(peer, &gate)));
        ConnectionService { front: self.clone(), peer, gate, newcomer, router }
    }
}

pub(super) struct ConnectionService {
    front: Front,
    peer: IpAddr,
    gate: Arc<Gate>,
    /// Until the first request is complete.
    newcomer: Cell<Option<Newcomer>>,
    router: Router,
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response;
    type Error = Infallible;
    type Future = Oneshot<Router, Request>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let mut request = request.map(Body::new);
        let address = if self.front.trust_forwarded_for { forwarded_for(request.headers()) } else { None };
        request.extensions_mut().insert(ClientAddress(address.unwrap_or(self.peer)));

        let newcomer = self.newcomer.take();
        if request.headers().contains_key(header::UPGRADE) {
            let newcomer = newcomer.unwrap_or_else(|| self.front.handshakes.enter(self.peer, &self.gate));
            newcomer.asks_for_socket();
            request.extensions_mut().insert(newcomer);
        }

        self.router.clone().oneshot(request)
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
