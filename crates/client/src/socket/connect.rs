//! Opening a socket: TCP, handshake, hello.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt;
use godwit_protocol::limits::COMMANDS_IN_FLIGHT_MAX;
use godwit_protocol::socket::{Event, Hello};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::connection::Connection;
use super::{Events, Shared, Socket, SocketConfig};
use crate::Error;

/// A frame from the server, in bytes. The largest one is a page of 200 log entries with the longest text, all of it escaped.
const FRAME_IN_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Commands in quick succession are combined into writes of this size.
const WRITE_BUFFER_BYTES: usize = 4 * 1024;
/// Commands that wait for the connection's task. The number in flight has a separate limit.
const OUTGOING_MAX: usize = 16;

const OPERATION: &str = "opening the socket";

impl Socket {
    /// Connects to the server at `base_url`, such as `http://127.0.0.1:8080`, and waits for its hello frame.
    pub async fn connect(base_url: &str, config: SocketConfig) -> Result<(Self, Events), Error> {
        within(config.connect_timeout, async {
            let request = request(base_url, &config)?;
            let stream = dial(&request).await?;
            handshake(stream, request, &config).await
        })
        .await
    }

    /// Like [`connect`](Self::connect), over a connection that the caller has opened, for example from a chosen address.
    pub async fn over(
        stream: TcpStream,
        base_url: &str,
        config: SocketConfig,
    ) -> Result<(Self, Events), Error> {
        within(config.connect_timeout, async {
            let request = request(base_url, &config)?;
            handshake(stream, request, &config).await
        })
        .await
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    timeout(limit, work).await.unwrap_or_else(|_| Err(Error::Timeout { operation: OPERATION.to_owned() }))
}

fn request(base_url: &str, config: &SocketConfig) -> Result<Request, Error> {
    let base = base_url.trim_end_matches('/');
    // `https` becomes `wss`, which is refused below because there is no TLS support.
    let base = base.strip_prefix("http").map_or_else(|| base.to_owned(), |rest| format!("ws{rest}"));
    let mut request = format!("{base}/v1/ws").into_client_request().map_err(refused)?;
    if let Some(token) = &config.access_token {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|source| Error::transport(OPERATION, source))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    Ok(request)
}

async fn dial(request: &Request) -> Result<TcpStream, Error> {
    let uri = request.uri();
    let (Some("ws"), Some(host)) = (uri.scheme_str(), uri.host()) else {
        return Err(Error::transport(OPERATION, format!("{uri} is not a URL of http://host:port")));
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((host, uri.port_u16().unwrap_or(80)))
        .await
        .map_err(|source| Error::transport(OPERATION, source))?;
    // Frames are small and wait for replies, which Nagle's algorithm would delay.
    stream.set_nodelay(true).map_err(|source| Error::transport(OPERATION, source))?;
    Ok(stream)
}

async fn handshake(
    stream: TcpStream,
    request: Request,
    config: &SocketConfig,
) -> Result<(Socket, Events), Error> {
    let web_socket = WebSocketConfig::default()
        .read_buffer_size(config.read_buffer_bytes)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_message_size(Some(FRAME_IN_BYTES_MAX))
        .max_frame_size(Some(FRAME_IN_BYTES_MAX));
    let (mut stream, _) =
        client_async_with_config(request, stream, Some(web_socket)).await.map_err(refused)?;
    let hello = read_hello(&mut stream).await?;
    Ok(start(stream, hello, config))
}

async fn read_hello(stream: &mut WebSocketStream<TcpStream>) -> Result<Hello, Error> {
    loop {
        let frame = match stream.next().await {
            Some(Ok(Message::Text(frame))) => frame,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
            Some(Ok(_)) | None => {
                return Err(Error::decode(OPERATION, "the socket does not begin with hello"));
            }
            Some(Err(source)) => return Err(Error::transport(OPERATION, source)),
        };
        return match serde_json::from_str(&frame) {
            Ok(Event::Hello(hello)) => Ok(hello),
            Ok(_) => Err(Error::decode(OPERATION, "the first frame is not hello")),
            Err(source) => Err(Error::decode(OPERATION, source)),
        };
    }
}

fn start(stream: WebSocketStream<TcpStream>, hello: Hello, config: &SocketConfig) -> (Socket, Events) {
    let closed = Arc::new(OnceLock::new());
    let (outgoing, commands) = mpsc::channel(OUTGOING_MAX);
    let (events, incoming) = mpsc::channel(config.events_buffered_max.max(1));
    let silence_max = Duration::from_millis(u64::from(hello.heartbeat_ms)) * 2;
    tokio::spawn(Connection::new(commands, events, closed.clone(), silence_max).run(stream));
    let in_flight_max = hello.limits.commands_in_flight_max.clamp(1, COMMANDS_IN_FLIGHT_MAX);
    let shared = Shared {
        hello,
        closed: closed.clone(),
        next_id: AtomicU64::new(1),
        in_flight: Arc::new(Semaphore::new(in_flight_max)),
        turn: Mutex::default(),
        command_timeout: config.command_timeout,
    };
    (Socket { outgoing, shared: Arc::new(shared) }, Events::new(incoming, closed))
}

fn refused(error: WsError) -> Error {
    match error {
        WsError::Http(response) => {
            // The body is what arrived with the headers; a problem document fits into that.
            let body = response.body().as_deref().unwrap_or_default();
            Error::of_response(OPERATION, response.status().as_u16(), body)
        }
        other => Error::transport(OPERATION, other),
    }
}
