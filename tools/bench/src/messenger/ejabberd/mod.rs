//! ejabberd: XMPP in WebSocket frames (RFC 7395), one stanza per frame. Groups are rooms (XEP-0045), and history is their
//! archive (XEP-0313).
//!
//! The acknowledgement between two people is the server's count of handled stanzas (XEP-0198): the client requests it after
//! every message, and the server sends it when the sender's archive has the message. In a room it is the sender's own
//! message, which the room sends to everybody when its archive has it.

#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use memchr::{memchr, memmem};

use super::stamp::Stamp;
use super::{Done, History, Incoming, Messenger};
use crate::wire::frame::{self, Opcode};

pub(crate) const HOST: &str = "localhost";
/// The password of all users.
pub(crate) const PASSWORD: &str = "godwit-bench";
const OPEN: &str = "<open xmlns='urn:ietf:params:xml:ns:xmpp-framing' to='localhost' version='1.0'/>";

#[derive(Debug)]
pub(crate) struct Ejabberd {
    address: SocketAddr,
    /// Separates users and rooms of this run from those of others on the same server.
    run: String,
    /// The number of stanzas that each user has received, which the server requests.
    received: Vec<u32>,
    conversations: Vec<Vec<u32>>,
}

impl Ejabberd {
    pub(crate) fn new(address: SocketAddr, users: u32, run: String) -> Self {
        Self { address, run, received: vec![0; users as usize], conversations: Vec::new() }
    }

    fn is_group(&self, conversation: u32) -> bool {
        self.conversations[conversation as usize].len() > 2
    }

    fn peer(&self, conversation: u32, user: u32) -> u32 {
        let members = &self.conversations[conversation as usize];
        members.iter().copied().find(|member| *member != user).unwrap_or(user)
    }

    /// Counts received stanzas, and answers the server's requests for the count.
    fn note(&mut self, user: u32, frame: &[u8], out: &mut Vec<u8>) -> anyhow::Result<()> {
        let received = &mut self.received[user as usize];
        if [&b"<message"[..], b"<presence", b"<iq"].iter().any(|stanza| frame.starts_with(stanza)) {
            *received += 1;
        } else if frame.starts_with(b"<enabled") {
            *received = 0;
        } else if frame.starts_with(b"<r ") {
            append(out, format_args!("<a xmlns='urn:xmpp:sm:3' h='{received}'/>"));
        } else if [&b"<failure"[..], b"<failed", b"<stream:error", b"<close"]
            .iter()
            .any(|bad| frame.starts_with(bad))
        {
            bail!("the server says: {}", String::from_utf8_lossy(frame));
        }
        ensure!(
            attribute(frame, b" type='") != Some(b"error"),
            "the server refuses: {}",
            String::from_utf8_lossy(frame)
        );
        Ok(())
    }
}

impl Messenger for Ejabberd {
    fn name(&self) -> &'static str {
        "ejabberd"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn move_to(&mut self, address: SocketAddr) {
        self.address = address;
    }

    fn handshake(&mut self, _: u32) -> anyhow::Result<(String, String)> {
        Ok(("/ws".to_owned(), "sec-websocket-protocol: xmpp\r\n".to_owned()))
    }

    /// Each step follows the answer to the previous one. The stream is opened again after authentication.
    fn sign_in(&mut self, user: u32, frame: Option<&[u8]>, out: &mut Vec<u8>) -> anyhow::Result<Done> {
        let Some(frame) = frame else {
            append(out, format_args!("{OPEN}"));
            return Ok(Done::NotYet);
        };
        self.note(user, frame, out)?;
        if frame.starts_with(b"<stream:features") {
            if memmem::find(frame, b"xmpp-sasl").is_some() {
                let secret = BASE64_STANDARD.encode(format!("\0{}u{user}\0{PASSWORD}", self.run));
                append(
                    out,
                    format_args!(
                        "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{secret}</auth>"
                    ),
                );
            } else {
                append(
                    out,
                    format_args!(
                        "<iq xmlns='jabber:client' type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"
                    ),
                );
            }
        } else if frame.starts_with(b"<success") {
            append(out, format_args!("{OPEN}"));
        } else if frame.starts_with(b"<iq") {
            append(out, format_args!("<presence xmlns='jabber:client'/>"));
            append(out, format_args!("<enable xmlns='urn:xmpp:sm:3'/>"));
        } else if frame.starts_with(b"<enabled") {
            return Ok(Done::Yes);
        }
        Ok(Done::NotYet)
    }

    fn plan_conversation(&mut self, members: &[u32]) -> u32 {
        self.conversations.push(members.to_vec());
        self.conversations.len() as u32 - 1
    }

    /// Two people need no setup. A room exists when the first user has entered it and accepted its configuration.
    fn join(
        &mut self,
        conversation: u32,
        user: u32,
        frame: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<Done> {
        if !self.is_group(conversation) {
            return Ok(Done::Yes);
        }
        let room = format!("{}g{conversation}@conference.{HOST}", self.run);
        let Some(frame) = frame else {
            append(
                out,
                format_args!(
                    "<presence xmlns='jabber:client' to='{room}/{user}'><x xmlns='http://jabber.org/protocol/muc'><history maxstanzas='0'/></x></presence>"
                ),
            );
            return Ok(Done::NotYet);
        };
        self.note(user, frame, out)?;
        if frame.starts_with(b"<presence") && memmem::find(frame, b"code='201'").is_some() {
            append(
                out,
                format_args!(
                    "<iq xmlns='jabber:client' type='set' id='room' to='{room}'><query xmlns='http://jabber.org/protocol/muc#owner'><x xmlns='jabber:x:data' type='submit'/></query></iq>"
                ),
            );
            return Ok(Done::NotYet);
        }
        let is_in = frame.starts_with(b"<presence") && memmem::find(frame, b"code='110'").is_some();
        let is_made = frame.starts_with(b"<iq") && attribute(frame, b" id='") == Some(b"room");
        Ok(if is_in || is_made { Done::Yes } else { Done::NotYet })
    }

    fn send(&mut self, conversation: u32, user: u32, ticket: u32, text: &[u8], out: &mut Vec<u8>) {
        let (run, is_group, peer) = (&self.run, self.is_group(conversation), self.peer(conversation, user));
        frame::append(out, Opcode::Text, |out| {
            // Writing to memory cannot fail.
            let _ = match is_group {
                true => write!(
                    out,
                    "<message xmlns='jabber:client' type='groupchat' id='{ticket}' to='{run}g{conversation}@conference.{HOST}'><body>"
                ),
                false => write!(
                    out,
                    "<message xmlns='jabber:client' type='chat' id='{ticket}' to='{run}u{peer}@{HOST}'><body>"
                ),
            };
            out.extend_from_slice(text);
            out.extend_from_slice(b"</body></message>");
        });
        if !is_group {
            append(out, format_args!("<r xmlns='urn:xmpp:sm:3'/>"));
        }
    }

    fn read(
        &mut self,
        user: u32,
        frame: &[u8],
        out: &mut Vec<u8>,
        each: &mut impl FnMut(Incoming),
    ) -> anyhow::Result<()> {
        self.note(user, frame, out)?;
        if frame.starts_with(b"<a ") {
            // Only messages are sent by users who request acknowledgements.
            let ticket = number(attribute(frame, b" h='")).context("an acknowledgement without a number")?;
            each(Incoming::Acknowledged { ticket });
        } else if frame.starts_with(b"<message")
            && let Some(stamp) = Stamp::find(frame)
        {
            each(Incoming::Delivered { stamp, place: None });
            // In a room, users are named by their numbers.
            let from = attribute(frame, b" from='").and_then(|from| from.rsplit(|byte| *byte == b'/').next());
            if attribute(frame, b" type='") == Some(b"groupchat") && number(from) == Some(user) {
                let ticket = number(attribute(frame, b" id='")).context("a message without its id")?;
                each(Incoming::Acknowledged { ticket });
            }
        }
        Ok(())
    }
}

impl History for Ejabberd {
    fn pages_at(&self) -> Option<SocketAddr> {
        None
    }

    fn ask_newest(
        &mut self,
        conversation: u32,
        user: u32,
        messages: u32,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<()> {
        let (run, peer) = (&self.run, self.peer(conversation, user));
        append(
            out,
            format_args!(
                "<iq xmlns='jabber:client' type='set' id='page'><query xmlns='urn:xmpp:mam:2'><x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE' type='hidden'><value>urn:xmpp:mam:2</value></field><field var='with'><value>{run}u{peer}@{HOST}</value></field></x><set xmlns='http://jabber.org/protocol/rsm'><max>{messages}</max><before/></set></query></iq>"
            ),
        );
        Ok(())
    }

    /// A frame for each message, and one for the end.
    fn read_page(
        &mut self,
        user: u32,
        _: Option<u16>,
        frame: &[u8],
        out: &mut Vec<u8>,
        each: &mut impl FnMut(Stamp),
    ) -> anyhow::Result<Done> {
        self.note(user, frame, out)?;
        if frame.starts_with(b"<message") {
            Stamp::find(frame).into_iter().for_each(each);
        }
        let is_last = frame.starts_with(b"<iq") && attribute(frame, b" id='") == Some(b"page");
        Ok(if is_last { Done::Yes } else { Done::NotYet })
    }
}

fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    frame::append(out, Opcode::Text, |out| {
        let _ = out.write_fmt(text);
    });
}

/// An attribute of the outermost element. `name` is the text before its value.
fn attribute<'a>(frame: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let tag = &frame[..memchr(b'>', frame)?];
    let value = &tag[memmem::find(tag, name)? + name.len()..];
    Some(&value[..memchr(b'\'', value)?])
}

fn number(digits: Option<&[u8]>) -> Option<u32> {
    str::from_utf8(digits?).ok()?.parse().ok()
}
