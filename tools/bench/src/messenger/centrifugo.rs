//! Centrifugo: its bidirectional JSON protocol. A conversation is a channel that its members subscribe to.
//!
//! A frame has one or more lines, each an object: replies have the id of their command, pushes have none, and an empty
//! object is a ping, answered with the same.

use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::{Context, ensure};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use memchr::memchr;
use serde_json::json;

use super::stamp::Stamp;
use super::{Done, History, Incoming, Messenger};
use crate::wire::frame::{self, Opcode};

/// Ids of commands that send no message. Tickets are below.
const CONNECT_ID: u32 = u32::MAX;
const SUBSCRIBE_ID: u32 = u32::MAX - 1;
const HISTORY_ID: u32 = u32::MAX - 2;

pub(crate) struct Centrifugo {
    address: SocketAddr,
    key: EncodingKey,
    /// Separates users and channels of this run from those of others on the same server.
    run: String,
    conversations: u32,
}

impl Centrifugo {
    /// `key` is the secret with which the server verifies tokens.
    pub(crate) fn new(address: SocketAddr, key: &str, run: String) -> Self {
        Self { address, key: EncodingKey::from_secret(key.as_bytes()), run, conversations: 0 }
    }

    fn command(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
        frame::append(out, Opcode::Text, |out| {
            // Writing to memory cannot fail.
            let _ = out.write_fmt(text);
        });
    }
}

impl Messenger for Centrifugo {
    fn name(&self) -> &'static str {
        "Centrifugo"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn move_to(&mut self, address: SocketAddr) {
        self.address = address;
    }

    fn handshake(&mut self, _: u32) -> anyhow::Result<(String, String)> {
        Ok(("/connection/websocket".to_owned(), String::new()))
    }

    fn sign_in(&mut self, user: u32, frame: Option<&[u8]>, out: &mut Vec<u8>) -> anyhow::Result<Done> {
        if let Some(frame) = frame {
            return replied(frame, CONNECT_ID, out);
        }
        let claims = json!({ "sub": format!("{}u{user}", self.run) });
        let token = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.key)
            .context("cannot sign a token")?;
        Self::command(out, format_args!(r#"{{"id":{CONNECT_ID},"connect":{{"token":"{token}"}}}}"#));
        Ok(Done::NotYet)
    }

    fn plan_conversation(&mut self, _: &[u32]) -> u32 {
        self.conversations += 1;
        self.conversations - 1
    }

    fn join(
        &mut self,
        conversation: u32,
        _: u32,
        frame: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<Done> {
        if let Some(frame) = frame {
            return replied(frame, SUBSCRIBE_ID, out);
        }
        let run = &self.run;
        Self::command(
            out,
            format_args!(r#"{{"id":{SUBSCRIBE_ID},"subscribe":{{"channel":"{run}c{conversation}"}}}}"#),
        );
        Ok(Done::NotYet)
    }

    fn send(&mut self, conversation: u32, _: u32, ticket: u32, text: &[u8], out: &mut Vec<u8>) {
        let run = &self.run;
        frame::append(out, Opcode::Text, |out| {
            let _ = write!(
                out,
                r#"{{"id":{ticket},"publish":{{"channel":"{run}c{conversation}","data":{{"text":""#
            );
            out.extend_from_slice(text);
            out.extend_from_slice(br#""}}}"#);
        });
    }

    fn read(
        &mut self,
        _: u32,
        frame: &[u8],
        out: &mut Vec<u8>,
        each: &mut impl FnMut(Incoming),
    ) -> anyhow::Result<()> {
        for line in lines(frame, out) {
            if line.starts_with(br#"{"push""#) {
                if let Some(stamp) = Stamp::find(line) {
                    each(Incoming::Delivered { stamp, place: None });
                }
            } else if let Some(ticket) = reply_id(line)?.filter(|id| *id < HISTORY_ID) {
                each(Incoming::Acknowledged { ticket });
            }
        }
        Ok(())
    }
}

impl History for Centrifugo {
    const NEWEST_FIRST: bool = true;

    fn pages_at(&self) -> Option<SocketAddr> {
        None
    }

    fn ask_newest(
        &mut self,
        conversation: u32,
        _: u32,
        messages: u32,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<()> {
        let run = &self.run;
        Self::command(
            out,
            format_args!(
                r#"{{"id":{HISTORY_ID},"history":{{"channel":"{run}c{conversation}","limit":{messages},"reverse":true}}}}"#
            ),
        );
        Ok(())
    }

    fn read_page(
        &mut self,
        _: u32,
        _: Option<u16>,
        frame: &[u8],
        out: &mut Vec<u8>,
        each: &mut impl FnMut(Stamp),
    ) -> anyhow::Result<Done> {
        let mut done = Done::NotYet;
        for line in lines(frame, out) {
            if reply_id(line)? == Some(HISTORY_ID) {
                Stamp::all(line).for_each(&mut *each);
                done = Done::Yes;
            }
        }
        Ok(done)
    }
}

/// The lines of a frame, after answering its pings.
fn lines<'a>(frame: &'a [u8], out: &mut Vec<u8>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let lines = frame.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    if lines.clone().any(|line| line == b"{}") {
        frame::append(out, Opcode::Text, |out| out.extend_from_slice(b"{}"));
    }
    lines
}

/// True if the frame contains the reply to a command.
fn replied(frame: &[u8], id: u32, out: &mut Vec<u8>) -> anyhow::Result<Done> {
    for line in lines(frame, out) {
        if reply_id(line)? == Some(id) {
            return Ok(Done::Yes);
        }
    }
    Ok(Done::NotYet)
}

/// The command id of a reply. A reply with an error is an error.
fn reply_id(line: &[u8]) -> anyhow::Result<Option<u32>> {
    let Some(rest) = line.strip_prefix(br#"{"id":"#) else { return Ok(None) };
    let end = memchr(b',', rest).context("the reply is empty")?;
    ensure!(
        !rest[end..].starts_with(br#","error""#),
        "the server refuses: {}",
        String::from_utf8_lossy(line)
    );
    Ok(Some(str::from_utf8(&rest[..end])?.parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { stream: 3, number: 9, sent_ns: 77 };

    fn messenger() -> Centrifugo {
        Centrifugo::new("127.0.0.1:80".parse().unwrap(), "key", "r".into())
    }

    fn text() -> String {
        let mut text = Vec::new();
        STAMP.write(&mut text, 40);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_message_has_the_format_of_the_server() {
        let mut out = Vec::new();
        messenger().send(4, 0, 7, b"hello", &mut out);
        assert_eq!(out[6..], *br#"{"id":7,"publish":{"channel":"rc4","data":{"text":"hello"}}}"#);
    }

    /// As the server sent them.
    #[test]
    fn frames_of_several_lines_are_understood_and_pings_answered() {
        let text = text();
        let push =
            format!(r#"{{"push":{{"channel":"rc4","pub":{{"data":{{"text":"{text}"}},"offset":1}}}}}}"#);
        let frame = format!("{push}\n{{\"id\":7,\"publish\":{{}}}}\n{{}}\n");
        let (mut out, mut came) = (Vec::new(), Vec::new());
        messenger().read(0, frame.as_bytes(), &mut out, &mut |incoming| came.push(incoming)).unwrap();
        let delivered = Incoming::Delivered { stamp: STAMP, place: None };
        assert_eq!(came, [delivered, Incoming::Acknowledged { ticket: 7 }]);
        assert_eq!(out[6..], *b"{}");
    }

    #[test]
    fn a_refusal_ends_the_run() {
        let refused = br#"{"id":7,"error":{"code":103,"message":"permission denied"}}"#;
        let error = messenger().read(0, refused, &mut Vec::new(), &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("permission denied"), "{error}");
    }

    #[test]
    fn pages_are_read() {
        let page = format!(
            r#"{{"id":{HISTORY_ID},"history":{{"publications":[{{"data":{{"text":"{}"}},"offset":1}}]}}}}"#,
            text()
        );
        let mut stamps = Vec::new();
        let each = &mut |stamp| stamps.push(stamp);
        let done = messenger().read_page(0, None, page.as_bytes(), &mut Vec::new(), each).unwrap();
        assert_eq!((done, stamps), (Done::Yes, vec![STAMP]));
    }
}
