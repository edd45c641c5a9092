//! Warns the operator when `server.trust_forwarded_for` does not fit the requests that arrive.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::HeaderMap;

use super::request::FORWARDED_FOR;

/// The headers in which proxies name the client.
const FORWARDING: [&str; 3] = [FORWARDED_FOR, "forwarded", "x-real-ip"];

/// Each warning is logged once, because any client can send any header.
#[derive(Debug, Default)]
pub(super) struct Advice {
    said_untrusted: AtomicBool,
    said_missing: AtomicBool,
}

impl Advice {
    /// Checks a request of a server that takes the client's address from the connection.
    pub(super) fn untrusting(&self, peer: IpAddr, headers: &HeaderMap) {
        if !self.said_untrusted.load(Ordering::Relaxed)
            && let Some(name) = FORWARDING.into_iter().find(|name| headers.contains_key(*name))
            && !self.said_untrusted.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                %peer,
                header = name,
                "this server seems to be behind a proxy, so all its clients share the limits of one address; \
                 set server.trust_forwarded_for = true if the proxy sets X-Forwarded-For"
            );
        }
    }

    /// Checks a request without a usable `X-Forwarded-For`, on a server that relies on it.
    pub(super) fn trusting(&self, peer: IpAddr) {
        if !self.said_missing.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %peer,
                "server.trust_forwarded_for is true, but a request has no X-Forwarded-For: either the proxy does not set it, \
                 or clients can bypass the proxy and choose their own address"
            );
        }
    }
}
