//! Whether `server.trust_forwarded_for` fits to what comes in, which only the operator can mend.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::HeaderMap;

use super::request::FORWARDED_FOR;

/// What proxies say of the client.
const FORWARDING: [&str; 3] = [FORWARDED_FOR, "forwarded", "x-real-ip"];

/// Each is said once: anybody can send any header.
#[derive(Debug, Default)]
pub(super) struct Advice {
    said_untrusted: AtomicBool,
    said_missing: AtomicBool,
}

impl Advice {
    /// Looks at a request of a server that takes the client's address from its connection.
    pub(super) fn untrusting(&self, peer: IpAddr, headers: &HeaderMap) {
        if !self.said_untrusted.load(Ordering::Relaxed)
            && let Some(name) = FORWARDING.into_iter().find(|name| headers.contains_key(*name))
            && !self.said_untrusted.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                %peer,
                header = name,
                "a proxy seems to be in front of this server, whose clients all share the limits of one address; \
                 set server.trust_forwarded_for = true if the proxy sets X-Forwarded-For"
            );
        }
    }

    /// Looks at a request without a usable `X-Forwarded-For`, where it is relied on.
    pub(super) fn trusting(&self, peer: IpAddr) {
        if !self.said_missing.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %peer,
                "server.trust_forwarded_for is true, and a request has no X-Forwarded-For: either the proxy does not set it, \
                 or this port can be reached past the proxy, by those who then choose their own address"
            );
        }
    }
}
