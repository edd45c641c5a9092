//! Connections: accepting, limiting and draining them.
//!
//! - [`Listener`]: accepts until the server stops
//! - [`slots`]: limits on connections, and their eviction; [`bodies`]: limits on unauthenticated request bodies
//! - [`connection`]: the byte stream of one connection, with its limits; [`peer`]: the connection as handlers see it
//! - [`request`]: prepares a request for the router; [`body`]: handles the unread rest of its body
//! - [`forwarding`]: warns the operator of a wrong setting for proxies
//!
//! An idle connection costs one task and hyper's two buffers of 8 KiB, which are freed when it becomes a socket.

mod bodies;
mod body;
mod connection;
mod files;
mod forwarding;
mod peer;
mod request;
mod slots;

use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use metrics::{counter, gauge};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

pub use peer::{Busy, Peer};

use self::bodies::{Bodies, BodyLimits};
use self::connection::{Connection, Linger};
use self::forwarding::Advice;
use self::request::Front;
use self::slots::{ConnectionSlots, Control, CrowdLimits, SlotLimits};
use crate::config::ServerConfig;

/// The size limit of a request head, and of hyper's buffers during a request. Hyper needs at least 8 KiB.
const HEAD_BYTES_MAX: usize = 16 * 1024;
const HEADERS_MAX: usize = 64;
/// Connections that the kernel queues until the server accepts them.
const BACKLOG: u32 = 4_096;
/// How often the accept loop expires anonymous connections and updates gauges.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// The wait after a failed accept, for lack of files or memory, instead of a busy loop.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);
/// How long idle anonymous connections may last when the server stops.
const STOP_IDLE_GRACE: Duration = Duration::from_secs(1);
/// Connections that may briefly exceed the limit: an evicted one closes when its task runs.
const CLOSING_MAX: usize = 256;
/// The answer to a connection beyond the limit.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// An open port. It accepts nothing until [`Listener::run`].
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    open: OpenConnections,
    http: http1::Builder,
    front: Front,
    stall_max: Duration,
}

/// The connections that remain after the last accept.
#[derive(Debug)]
pub struct OpenConnections {
    max: usize,
    permits: Arc<Semaphore>,
    slots: Arc<ConnectionSlots>,
}

impl Listener {
    pub fn bind(config: &ServerConfig) -> io::Result<Self> {
        let address = SocketAddr::from(config.listen);
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // A restart must not wait for the last connections of the previous run.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let socket = socket.listen(BACKLOG)?;
        let max = files::connections_max(config.max_connections);
        let slots = ConnectionSlots::new(slot_limits(config, max));
        let bodies = Bodies::new(BodyLimits {
            total_bytes_max: config.anonymous_body_bytes_max,
            per_network_bytes_max: config.anonymous_body_bytes_per_network_max,
        });
        let front = Front {
            trust_forwarded_for: config.trusts_forwarded_for(),
            slots: slots.clone(),
            bodies,
            advice: Arc::new(Advice::default()),
        };
        let permits = max.saturating_add(CLOSING_MAX).min(Semaphore::MAX_PERMITS);
        Ok(Self {
            address: socket.local_addr()?,
            socket,
            open: OpenConnections { max: permits, permits: Arc::new(Semaphore::new(permits)), slots },
            http: http(Duration::from_millis(config.idle_timeout_ms)),
            front,
            stall_max: Duration::from_millis(config.write_timeout_ms),
        })
    }

    /// The address, with the chosen port if the config says port 0.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts connections until `stopping` is true. Open connections continue; see [`OpenConnections::drain`].
    pub async fn run(self, router: Router, stopping: watch::Receiver<bool>) -> OpenConnections {
        let mut stop = pin!(is_true(stopping.clone()));
        let mut sweeps = interval(SWEEP_INTERVAL);
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut refused = 0_u64;
        loop {
            tokio::select! {
                biased;
                () = &mut stop => return self.open,
                _ = sweeps.tick() => self.sweep(&mut refused),
                accepted = self.socket.accept() => match accepted {
                    Ok((stream, peer)) => {
                        let is_taken = self.take(stream, peer.ip(), &router, &stopping);
                        refused += u64::from(!is_taken);
                    }
                    // The peer has disconnected before the accept.
                    Err(error) if is_of_peer(&error) => {}
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept connections now");
                        sleep(ACCEPT_BACKOFF).await;
                    }
                },
            }
        }
    }

    /// Starts to serve a connection. False if there are too many: the connection is closed at once rather than left in the
    /// backlog, because a client with an answer can retry elsewhere or later, and one in the backlog hangs until it times
    /// out.
    fn take(
        &self,
        stream: TcpStream,
        peer: IpAddr,
        router: &Router,
        stopping: &watch::Receiver<bool>,
    ) -> bool {
        let control = Arc::new(Control::default());
        let from = (!self.front.trust_forwarded_for).then_some(peer);
        let permit = self.open.permits.clone().try_acquire_owned().ok();
        let Some((permit, slot)) = permit.zip(self.open.slots.enter(from, &control)) else {
            counter!("godwit_connections_refused_total").increment(1);
            refuse(stream);
            return false;
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "could not set TCP_NODELAY on a connection");
        }
        let linger = Linger::default();
        let service = self.front.service(peer, slot.id(), control.clone(), linger.clone(), router.clone());
        let bytes = TokioIo::new(Connection::new(stream, control, linger, self.stall_max, slot, permit));
        let connection = self.http.serve_connection(bytes, service).with_upgrades();
        let stopping = stopping.clone();
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            let outcome = tokio::select! {
                outcome = connection.as_mut() => outcome,
                () = is_true(stopping) => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = outcome {
                tracing::debug!(%error, "a connection ended early");
            }
        });
        true
    }

    fn sweep(&self, refused: &mut u64) {
        self.open.slots.expire(Instant::now());
        gauge!("godwit_connections").set(self.open.count() as f64);
        if *refused > 0 {
            tracing::warn!(refused = *refused, "a connection limit is reached, of one client or of all");
            *refused = 0;
        }
    }
}

impl OpenConnections {
    pub fn count(&self) -> usize {
        self.max - self.permits.available_permits()
    }

    /// Waits until all connections have ended, for at most `within`. Returns the number of remaining ones.
    pub async fn drain(self, within: Duration) -> usize {
        let all = u32::try_from(self.max).unwrap_or(u32::MAX);
        let ended = async {
            if timeout(STOP_IDLE_GRACE, self.permits.acquire_many(all)).await.is_err() {
                self.slots.end_idle();
                // Fails only if the semaphore is closed, and no code does that.
                let _ = self.permits.acquire_many(all).await;
            }
        };
        // On success all permits have been returned, so they are not counted here.
        timeout(within, ended).await.map_or_else(|_| self.count(), |()| 0)
    }
}

fn slot_limits(config: &ServerConfig, total_max: usize) -> SlotLimits {
    SlotLimits {
        all: CrowdLimits {
            total_max,
            per_address_max: config.connections_per_address_max,
            per_network_max: config.connections_per_network_max,
        },
        anonymous: CrowdLimits {
            total_max: config.anonymous_max,
            per_address_max: config.anonymous_per_address_max,
            per_network_max: config.anonymous_per_network_max,
        },
        head_within: Duration::from_millis(config.header_timeout_ms),
        anonymous_idle_max: Duration::from_millis(config.anonymous_idle_timeout_ms),
        answers_bytes_max: config.answers_bytes_max,
    }
}

fn http(idle_max: Duration) -> http1::Builder {
    let mut http = http1::Builder::new();
    // Hyper starts the timer when it waits for a head, so this limits idle connections too.
    http.timer(TokioTimer::new())
        .header_read_timeout(idle_max)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    http
}

/// Also returns if the sender is gone: then the flag can never change, and there is no reason to wait.
async fn is_true(mut flag: watch::Receiver<bool>) {
    let _ = flag.wait_for(|value| *value).await;
}

fn refuse(stream: TcpStream) {
    // Writes as much as the kernel takes without blocking.
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write(FULL);
    }
}

fn is_of_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset
    )
}
