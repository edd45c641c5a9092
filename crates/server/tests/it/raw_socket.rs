//! A WebSocket client with hand-written frames, which can violate the protocol in every way.

use std::net::SocketAddr;
use std::time::Duration;

use godwit_protocol::socket::CloseCode;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::people::soon;

/// Any mask works; servers only require one.
const MASK: [u8; 4] = [0x12, 0x34, 0x56, 0x78];

pub(crate) const CONTINUATION: u8 = 0;
pub(crate) const TEXT: u8 = 1;
pub(crate) const BINARY: u8 = 2;
pub(crate) const CLOSE: u8 = 8;
pub(crate) const PING: u8 = 9;
pub(crate) const PONG: u8 = 10;

pub(crate) struct RawSocket {
    stream: TcpStream,
    unread: Vec<u8>,
    next_id: u64,
    /// Whether it answers pings of the server, as every library does.
    pub(crate) answers_pings: bool,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) opcode: u8,
    pub(crate) payload: Vec<u8>,
}

/// How a socket ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With a close frame.
    Closed(CloseCode),
    /// With a close frame whose code is not one of the server's.
    Other(Option<u16>),
    /// Without a close frame.
    Dropped,
}

impl RawSocket {
    /// Performs the handshake, signed in by the header if there is a token.
    pub(crate) async fn connect(address: SocketAddr, token: Option<&str>) -> Self {
        Self::try_connect(address, token).await.unwrap_or_else(|answer| panic!("no upgrade: {answer}"))
    }

    /// The head of the answer if it is not an upgrade.
    pub(crate) async fn try_connect(address: SocketAddr, token: Option<&str>) -> Result<Self, String> {
        Self::shake_hands(address, &handshake(token)).await
    }

    /// Connected through a proxy that names the client, past the hello, not signed in.
    pub(crate) async fn open_forwarded(address: SocketAddr, client: &str) -> Self {
        let mut socket = Self::try_forwarded(address, client).await.unwrap();
        assert!(socket.json().await.get("hello").is_some());
        socket
    }

    /// The same; the head of the answer if it is not an upgrade.
    pub(crate) async fn try_forwarded(address: SocketAddr, client: &str) -> Result<Self, String> {
        let request = handshake(None).replace("\r\n\r\n", &format!("\r\nx-forwarded-for: {client}\r\n\r\n"));
        Self::shake_hands(address, &request).await
    }

    async fn shake_hands(address: SocketAddr, request: &str) -> Result<Self, String> {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if soon("the answer to a handshake", stream.read(&mut byte)).await.unwrap_or(0) == 0 {
                return Err(String::from_utf8_lossy(&head).into_owned());
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        if head.starts_with("HTTP/1.1 101 ") {
            Ok(Self { stream, unread: Vec::new(), next_id: 1, answers_pings: true })
        } else {
            Err(head)
        }
    }

    /// Connected, past the hello, and signed in if there is a token.
    pub(crate) async fn open(address: SocketAddr, token: Option<&str>) -> Self {
        let mut socket = Self::connect(address, token).await;
        let hello = socket.json().await;
        assert!(hello.get("hello").is_some(), "the first frame is {hello}");
        assert_eq!(hello["hello"].get("signed_in").is_some(), token.is_some());
        socket
    }

    pub(crate) async fn text(&mut self, text: impl AsRef<str>) {
        self.frame(TEXT, text.as_ref().as_bytes()).await;
    }

    pub(crate) async fn frame(&mut self, opcode: u8, payload: &[u8]) {
        self.bytes(&encode(true, opcode, payload)).await;
    }

    /// Ignores write errors: the server may have closed already, with a reason.
    pub(crate) async fn bytes(&mut self, bytes: &[u8]) {
        let _ = soon("writing to a socket", self.stream.write_all(bytes)).await;
    }

    /// Sends a command and waits for its reply. Skips events before it.
    pub(crate) async fn call(&mut self, command: &str, body: Value) -> Value {
        let id = self.post(command, body).await;
        self.reply(id).await
    }

    /// Sends a command without waiting.
    pub(crate) async fn post(&mut self, command: &str, body: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.text(json!({ "id": id, command: body }).to_string()).await;
        id
    }

    pub(crate) async fn reply(&mut self, id: u64) -> Value {
        loop {
            let frame = self.json().await;
            if frame["id"] == id {
                return frame;
            }
        }
    }

    /// The next error frame. Skips events before it.
    pub(crate) async fn error(&mut self) -> Value {
        loop {
            let frame = self.json().await;
            if frame.get("error").is_some() {
                return frame;
            }
        }
    }

    /// The next event with this name. Skips everything before it.
    pub(crate) async fn event(&mut self, name: &str) -> Value {
        loop {
            let mut frame = self.json().await;
            if let Some(event) = frame.get_mut(name) {
                return event.take();
            }
        }
    }

    /// The next text frame.
    pub(crate) async fn json(&mut self) -> Value {
        match self.next().await {
            Some(Frame { opcode: TEXT, payload }) => serde_json::from_slice(&payload).unwrap(),
            other => panic!("a text frame was expected, and not {other:?}"),
        }
    }

    /// The next text frame, or the end of the socket; `None` when the connection is down.
    pub(crate) async fn next_value(&mut self) -> Option<Result<Value, Ended>> {
        loop {
            let frame = self.next().await?;
            match frame.opcode {
                TEXT => return Some(Ok(serde_json::from_slice(&frame.payload).unwrap())),
                CLOSE => return Some(Err(ended_by(&frame.payload))),
                _ => {}
            }
        }
    }

    /// Reads to the end: all frames, and how the socket ended.
    pub(crate) async fn until_end(&mut self) -> (Vec<Value>, Ended) {
        let (mut said, mut ended) = (Vec::new(), Ended::Dropped);
        while let Some(frame) = self.next().await {
            match frame.opcode {
                TEXT => said.push(serde_json::from_slice(&frame.payload).unwrap()),
                CLOSE => {
                    ended = ended_by(&frame.payload);
                    self.bytes(&encode(true, CLOSE, &frame.payload)).await;
                }
                _ => {}
            }
        }
        (said, ended)
    }

    pub(crate) async fn end(&mut self) -> Ended {
        self.until_end().await.1
    }

    /// Asserts that the connection is open: a command gets its reply.
    pub(crate) async fn assert_alive(&mut self) {
        let reply = self.call("ping", json!({})).await;
        assert_eq!(reply["ok"], json!({}), "{reply}");
    }

    /// The next frame that is not a ping; `None` when the connection is down. Answers pings, unless told otherwise.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        // The time limit covers all frames: a server that only pings is as bad as a silent one.
        soon("a frame", async {
            loop {
                match self.read_frame().await? {
                    Frame { opcode: PING, payload } if self.answers_pings => {
                        self.bytes(&encode(true, PONG, &payload)).await;
                    }
                    Frame { opcode: PING, .. } => {}
                    frame => return Some(frame),
                }
            }
        })
        .await
    }

    async fn read_frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.take_frame() {
                return Some(frame);
            }
            let mut buffer = [0; 8 * 1024];
            match self.stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.unread.extend_from_slice(&buffer[..count]),
            }
        }
    }

    /// Resets the connection, as a crash does.
    pub(crate) fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }

    /// True if nothing arrives within a short while. Only for frames that must not come.
    pub(crate) async fn is_silent(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(300), self.next()).await.is_err()
    }

    fn take_frame(&mut self) -> Option<Frame> {
        let [first, second, ..] = *self.unread else { return None };
        let (length, start) = match second {
            126 => (usize::from(u16::from_be_bytes(self.unread.get(2..4)?.try_into().ok()?)), 4),
            127 => (usize::try_from(u64::from_be_bytes(self.unread.get(2..10)?.try_into().ok()?)).ok()?, 10),
            short => (usize::from(short), 2),
        };
        if self.unread.len() < start + length {
            return None;
        }
        let payload = self.unread[start..start + length].to_vec();
        self.unread.drain(..start + length);
        Some(Frame { opcode: first & 0x0f, payload })
    }
}

/// An upgrade request.
pub(crate) fn handshake(token: Option<&str>) -> String {
    let authorization = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!(
        "GET /v1/ws HTTP/1.1\r\nhost: godwit.test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{authorization}\r\n"
    )
}

/// A masked frame, as clients must send it.
pub(crate) fn encode(is_final: bool, opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = header(is_final, opcode, payload.len(), 0x80);
    frame.extend(MASK);
    frame.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ MASK[at % 4]));
    frame
}

/// An unmasked frame, as only servers may send it.
pub(crate) fn encode_unmasked(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = header(true, opcode, payload.len(), 0);
    frame.extend(payload);
    frame
}

/// The head of a frame that announces this length.
pub(crate) fn header(is_final: bool, opcode: u8, length: usize, mask_bit: u8) -> Vec<u8> {
    let mut header = vec![if is_final { 0x80 } else { 0 } | opcode];
    match length {
        0..126 => header.push(mask_bit | length as u8),
        126..=0xffff => {
            header.push(mask_bit | 126);
            header.extend((length as u16).to_be_bytes());
        }
        _ => {
            header.push(mask_bit | 127);
            header.extend((length as u64).to_be_bytes());
        }
    }
    header
}

fn ended_by(payload: &[u8]) -> Ended {
    let code = payload.first_chunk().copied().map(u16::from_be_bytes);
    match code.and_then(CloseCode::from_code) {
        // With another reason it is the echo of the client's own close frame.
        Some(known) if payload[2..] == *known.reason().as_bytes() => Ended::Closed(known),
        _ => Ended::Other(code),
    }
}
