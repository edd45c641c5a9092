//! WuKongIM: its binary protocol, version 5, in WebSocket frames; users, groups and history through its HTTP API.
//!
//! A packet is a byte with kind and flags, a length with seven bits per byte, and fields: big-endian numbers, and strings
//! after a two-byte length. It acknowledges a message when the message is on disk.

#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::net::SocketAddr;
use std::thread;

use anyhow::{Context, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use memchr::memmem;
use serde_json::json;

use super::stamp::{STAMP_BYTES, Stamp};
use super::{Done, History, Incoming, Messenger};
use crate::wire::blocking::Client;
use crate::wire::frame::{self, Opcode};
use crate::wire::http;

const VERSION: u8 = 5;
const CONNECT: u8 = 1;
const CONNACK: u8 = 2;
const SEND: u8 = 3;
const SENDACK: u8 = 4;
const RECV: u8 = 5;
const RECVACK: u8 = 6;
const DISCONNECT: u8 = 9;
/// A flag of a sent message: it counts as unread.
const UNREAD: u8 = 2;
/// A flag of the answer to a connect: the version comes first.
const HAS_VERSION: u8 = 1;
const SUCCESS: u8 = 1;
const WEB: u8 = 1;
const PERSON: u8 = 1;
const GROUP: u8 = 2;

/// Concurrent registrations of users.
const PREPARERS: u32 = 32;
const TRIES_MAX: usize = 5;
/// In all conversations of a run together.
const OPENINGS_MAX: u32 = 1_000_000;
const TOKEN: &str = "godwit-bench";
const PAYLOAD: &[u8] = br#""payload":""#;
/// The length of a stamp in Base64.
const STAMP_CHARS: usize = STAMP_BYTES / 3 * 4;

#[derive(Debug)]
pub(crate) struct WuKongIm {
    address: SocketAddr,
    api: SocketAddr,
    /// Separates users and groups of this run from those of others on the same server.
    run: String,
    conversations: Vec<Vec<u32>>,
    /// The number of messages that are not measured, which gives each a different ticket.
    openings: u32,
}

impl WuKongIm {
    /// `api` is the address of its HTTP API.
    pub(crate) const fn new(address: SocketAddr, api: SocketAddr, run: String) -> Self {
        Self { address, api, run, conversations: Vec::new(), openings: 0 }
    }

    fn user(&self, user: u32) -> String {
        format!("{}u{user}", self.run)
    }

    /// The channel name of a conversation, from the view of one member.
    fn channel(&self, conversation: u32, user: u32) -> (String, u8) {
        match self.conversations[conversation as usize][..] {
            [a, b] => (self.user(if user == a { b } else { a }), PERSON),
            _ => (format!("{}g{conversation}", self.run), GROUP),
        }
    }
}

impl Messenger for WuKongIm {
    fn name(&self) -> &'static str {
        "WuKongIM"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn move_to(&mut self, address: SocketAddr) {
        self.address = address;
    }

    /// Sets the tokens of users.
    fn prepare(&mut self, users: u32) -> anyhow::Result<()> {
        let this = &*self;
        let prepare = move |first: u32| {
            let mut client = Client::connect(this.api)?;
            (first..users).step_by(PREPARERS as usize).try_for_each(|user| {
                let uid = this.user(user);
                let token = json!({ "uid": uid, "token": TOKEN, "device_flag": WEB, "device_level": 1 });
                // A server that has just started may not have elected a leader for all users yet.
                let mut tries = (0..TRIES_MAX).map(|_| client.post("/user/token", &token));
                tries.find(Result::is_ok).unwrap_or_else(|| client.post("/user/token", &token))
            })
        };
        thread::scope(|scope| {
            let preparing: Vec<_> = (0..PREPARERS).map(|first| scope.spawn(move || prepare(first))).collect();
            preparing
                .into_iter()
                .try_for_each(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn handshake(&mut self, _: u32) -> anyhow::Result<(String, String)> {
        Ok(("/".to_owned(), String::new()))
    }

    fn sign_in(&mut self, user: u32, frame: Option<&[u8]>, out: &mut Vec<u8>) -> anyhow::Result<Done> {
        let Some(frame) = frame else {
            let uid = self.user(user);
            packet(out, CONNECT << 4, |out| {
                out.extend([VERSION, WEB]);
                string(out, uid.as_bytes());
                string(out, uid.as_bytes());
                string(out, TOKEN.as_bytes());
                // The client's time, which the server only compares with its own.
                out.extend([0; 8]);
                // No key, because encryption is off.
                string(out, b"");
            });
            return Ok(Done::NotYet);
        };
        let (head, body, _) = split(frame)?.context("an answer to a connect is incomplete")?;
        ensure!(head >> 4 == CONNACK, "a packet of kind {} instead of an answer to a connect", head >> 4);
        let reason = body.get(8 + usize::from(head & HAS_VERSION));
        ensure!(reason == Some(&SUCCESS), "the server refuses to connect: reason {reason:?}");
        Ok(Done::Yes)
    }

    fn plan_conversation(&mut self, members: &[u32]) -> u32 {
        self.conversations.push(members.to_vec());
        self.conversations.len() as u32 - 1
    }

    /// Two people need no setup; a group is created with all its members. The first member retries a message until the
    /// server accepts it: the server refuses messages while it creates a new conversation.
    fn join(
        &mut self,
        conversation: u32,
        user: u32,
        frame: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<Done> {
        let members = &self.conversations[conversation as usize];
        if members.first() != Some(&user) {
            return Ok(Done::Yes);
        }
        if frame.is_none() && members.len() > 2 {
            let (id, kind) = self.channel(conversation, user);
            let members: Vec<String> = members.iter().map(|member| self.user(*member)).collect();
            let group = json!({ "channel_id": id, "channel_type": kind, "subscribers": members });
            Client::connect(self.api)?.post("/channel", &group)?;
        }
        match frame.map(split).transpose()?.flatten() {
            Some((head, body, _)) if head >> 4 == SENDACK => {
                let (_, reason) = acknowledgement(body).context("an acknowledgement is truncated")?;
                if reason == SUCCESS {
                    return Ok(Done::Yes);
                }
            }
            Some(_) => return Ok(Done::NotYet),
            None => {}
        }
        self.openings += 1;
        ensure!(self.openings < OPENINGS_MAX, "the server accepts no message in a new conversation");
        self.send(conversation, user, u32::MAX - self.openings, b"hello", out);
        Ok(Done::NotYet)
    }

    fn send(&mut self, conversation: u32, user: u32, ticket: u32, text: &[u8], out: &mut Vec<u8>) {
        let run = &self.run;
        packet(out, SEND << 4 | UNREAD, |out| {
            out.push(0);
            out.extend(ticket.to_be_bytes());
            sized(out, |out| write(out, format_args!("{run}-{user}-{ticket}")));
            let kind = match self.conversations[conversation as usize][..] {
                [a, b] => {
                    let to = if user == a { b } else { a };
                    sized(out, |out| write(out, format_args!("{run}u{to}")));
                    PERSON
                }
                _ => {
                    sized(out, |out| write(out, format_args!("{run}g{conversation}")));
                    GROUP
                }
            };
            out.push(kind);
            // No expiry, and no key, because encryption is off.
            out.extend([0; 4]);
            string(out, b"");
            out.extend_from_slice(text);
        });
    }

    fn read(
        &mut self,
        _: u32,
        frame: &[u8],
        out: &mut Vec<u8>,
        each: &mut impl FnMut(Incoming),
    ) -> anyhow::Result<()> {
        let mut rest = frame;
        while let Some((head, body, bytes)) = split(rest)? {
            rest = &rest[bytes..];
            match head >> 4 {
                SENDACK => {
                    let (ticket, reason) =
                        acknowledgement(body).context("an acknowledgement is truncated")?;
                    ensure!(reason == SUCCESS, "the server refuses a message: reason {reason}");
                    each(Incoming::Acknowledged { ticket });
                }
                RECV => {
                    let ids = ids(body).context("a message is truncated")?;
                    packet(out, RECVACK << 4, |out| out.extend_from_slice(ids));
                    if let Some(stamp) = Stamp::find(body) {
                        each(Incoming::Delivered { stamp, place: None });
                    }
                }
                DISCONNECT => anyhow::bail!("the server disconnects: {}", String::from_utf8_lossy(body)),
                _ => {}
            }
        }
        Ok(())
    }
}

impl History for WuKongIm {
    fn pages_at(&self) -> Option<SocketAddr> {
        Some(self.api)
    }

    fn ask_newest(
        &mut self,
        conversation: u32,
        user: u32,
        messages: u32,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<()> {
        let (id, kind) = self.channel(conversation, user);
        let uid = self.user(user);
        let body = format!(
            r#"{{"login_uid":"{uid}","channel_id":"{id}","channel_type":{kind},"limit":{messages},"pull_mode":1}}"#
        );
        http::post(out, self.api, "/channel/messagesync", body.as_bytes());
        Ok(())
    }

    /// Texts are Base64 there.
    fn read_page(
        &mut self,
        _: u32,
        status: Option<u16>,
        page: &[u8],
        _: &mut Vec<u8>,
        each: &mut impl FnMut(Stamp),
    ) -> anyhow::Result<Done> {
        ensure!(status == Some(200), "a page is refused: {status:?} {}", String::from_utf8_lossy(page));
        for start in memmem::find_iter(page, PAYLOAD) {
            let mut text = [0; STAMP_BYTES];
            let stamp = page[start + PAYLOAD.len()..]
                .get(..STAMP_CHARS)
                .filter(|chars| BASE64_STANDARD.decode_slice(chars, &mut text).is_ok())
                .and_then(|_| Stamp::find(&text));
            each(stamp.context("a message on a page has no stamp")?);
        }
        Ok(Done::Yes)
    }
}

/// Adds a packet in its own frame. Two bytes of length are enough for every packet here.
fn packet(out: &mut Vec<u8>, head: u8, write: impl FnOnce(&mut Vec<u8>)) {
    frame::append(out, Opcode::Binary, |out| {
        let start = out.len();
        out.extend([head, 0, 0]);
        write(out);
        let length = out.len() - start - 3;
        // Always uses the second byte, even if one would suffice.
        out[start + 1] = length as u8 & 0x7f | 0x80;
        out[start + 2] = (length >> 7) as u8 & 0x7f;
    });
}

fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    sized(out, |out| out.extend_from_slice(bytes));
}

fn sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0; 2]);
    write(out);
    let length = (out.len() - start - 2) as u16;
    out[start..start + 2].copy_from_slice(&length.to_be_bytes());
}

fn write(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to memory cannot fail.
    let _ = out.write_fmt(text);
}

/// The head of the first packet, its fields, and its length. `None` at the end.
fn split(bytes: &[u8]) -> anyhow::Result<Option<(u8, &[u8], usize)>> {
    const PING: u8 = 7;
    const PONG: u8 = 8;
    let Some((head, rest)) = bytes.split_first() else { return Ok(None) };
    if matches!(head >> 4, PING | PONG) {
        return Ok(Some((*head, &[], 1)));
    }
    let (mut length, mut used) = (0_usize, 0);
    loop {
        let byte = rest.get(used).filter(|_| used < 4).context("a packet has no length")?;
        length |= usize::from(byte & 0x7f) << (7 * used);
        used += 1;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let body = rest.get(used..used + length).context("a packet is truncated")?;
    Ok(Some((*head, body, 1 + used + length)))
}

/// Ticket and reason code.
fn acknowledgement(body: &[u8]) -> Option<(u32, u8)> {
    let ticket = body.get(8..12)?.try_into().ok()?;
    Some((u32::from_be_bytes(ticket), *body.get(16)?))
}

/// The id and number of a message, which are acknowledged.
fn ids(body: &[u8]) -> Option<&[u8]> {
    let after_string = |bytes: &'_ [u8]| -> Option<usize> {
        Some(2 + usize::from(u16::from_be_bytes([*bytes.first()?, *bytes.get(1)?])))
    };
    // Settings byte; key, sender and channel; a kind byte and four of expiry; the sender's id of the message.
    let mut at = 1;
    for _ in 0..3 {
        at += after_string(body.get(at..)?)?;
    }
    at += 5;
    at += after_string(body.get(at..)?)?;
    body.get(at..at + 12)
}
