//! The port on which Prometheus reads the metrics. It is separate from the clients' port, because a page has 50 to 140 KB
//! and reveals the activity of the server.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{Method, Response, StatusCode};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::config::ListenAddress;

pub const PATH: &str = "/metrics";
/// Concurrent readers.
const CONNECTIONS_MAX: usize = 32;
/// From one request to the end of the next one's head.
const IDLE_MAX: Duration = Duration::from_secs(75);
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// An open port. It accepts nothing until [`MetricsListener::run`].
#[derive(Debug)]
pub struct MetricsListener {
    socket: TcpListener,
    address: SocketAddr,
}

/// Renders the page.
#[derive(Clone)]
pub struct Page(Arc<dyn Fn() -> String + Send + Sync>);

impl Page {
    pub fn new(render: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(render))
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Page")
    }
}

impl MetricsListener {
    pub async fn bind(address: ListenAddress) -> io::Result<Self> {
        let socket = TcpListener::bind(SocketAddr::from(address)).await?;
        Ok(Self { address: socket.local_addr()?, socket })
    }

    /// The address, with the chosen port if the config says port 0.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the future is dropped.
    pub async fn run(self, page: Page) {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            // The semaphore is never closed. Further readers wait in the backlog.
            let Ok(place) = places.clone().acquire_owned().await else { return };
            match self.socket.accept().await {
                Ok((stream, _)) => {
                    let page = page.clone();
                    tokio::spawn(async move {
                        serve(stream, page).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::debug!(%error, "cannot accept connections for metrics now");
                    sleep(ACCEPT_BACKOFF).await;
                }
            }
        }
    }
}

async fn serve(stream: TcpStream, page: Page) {
    let answer = service_fn(move |request| {
        let response = answer(&request, &page);
        async move { Ok::<_, Infallible>(response) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(IDLE_MAX);
    if let Err(error) = http.serve_connection(TokioIo::new(stream), answer).await {
        tracing::debug!(%error, "a metrics connection ended early");
    }
}

fn answer(request: &Request<Incoming>, Page(render): &Page) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    if request.uri().path() != PATH {
        *response.status_mut() = StatusCode::NOT_FOUND;
    } else if request.method() == Method::GET {
        let text = "text/plain; version=0.0.4; charset=utf-8";
        response.headers_mut().insert(CONTENT_TYPE, axum::http::HeaderValue::from_static(text));
        *response.body_mut() = Body::from(render());
    } else {
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        response.headers_mut().insert(ALLOW, axum::http::HeaderValue::from_static("GET"));
    }
    response
}
