//! Tinode: JSON over a WebSocket. Two people share a topic that each addresses by the name of the other; a group is a
//! separate topic.
//!
//! Users are created without a password on their first connection, and later sign in with the token that they got, so that
//! no password is hashed. The acknowledgement of a message is `202 accepted`, which comes when the database has it.

use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::{Context, ensure};
use memchr::memmem;
use serde::Deserialize;

use super::stamp::Stamp;
use super::{Done, History, Incoming, Messenger};
use crate::wire::frame::{self, Opcode};

/// For the salt of its default configuration.
const API_KEY: &str = "AQEAAAABAAD_rAp4DJh05a1HAwFT3A6K";
const HI_ID: &str = "hi";
const SIGN_IN_ID: &str = "in";
const SUBSCRIBE_ID: &str = "sub";
const PAGE_ID: &str = "page";
const CTRL: &[u8] = br#"{"ctrl":{"id":""#;
const CODE: &[u8] = br#""code":"#;

#[derive(Debug)]
pub(crate) struct Tinode {
    address: SocketAddr,
    users: Vec<Option<User>>,
    conversations: Vec<Conversation>,
}

#[derive(Debug, Deserialize)]
struct User {
    #[serde(rename = "user")]
    id: String,
    token: String,
}

#[derive(Debug)]
struct Conversation {
    members: Vec<u32>,
    /// The name of a group, once it is created.
    group: Option<String>,
}

/// A reply to a command other than a message.
#[derive(Debug, Deserialize)]
struct Reply {
    ctrl: Control,
}

#[derive(Debug, Deserialize)]
struct Control {
    #[serde(default)]
    topic: String,
    #[serde(default)]
    params: serde_json::Value,
}

impl Tinode {
    pub(crate) fn new(address: SocketAddr, users: u32) -> Self {
        Self { address, users: (0..users).map(|_| None).collect(), conversations: Vec::new() }
    }

    /// The name by which a member addresses the topic of a conversation.
    fn topic(&self, conversation: u32, user: u32) -> &str {
        let Conversation { members, group } = &self.conversations[conversation as usize];
        match (&members[..], group) {
            ([a, b], _) => {
                let peer = if user == *a { b } else { a };
                self.users[*peer as usize].as_ref().map_or("", |peer| &peer.id)
            }
            (_, group) => group.as_deref().unwrap_or("new"),
        }
    }
}

impl Messenger for Tinode {
    fn name(&self) -> &'static str {
        "Tinode"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn move_to(&mut self, address: SocketAddr) {
        self.address = address;
    }

    fn handshake(&mut self, _: u32) -> anyhow::Result<(String, String)> {
        Ok(("/v0/channels".to_owned(), format!("x-tinode-apikey: {API_KEY}\r\n")))
    }

    fn sign_in(&mut self, user: u32, frame: Option<&[u8]>, out: &mut Vec<u8>) -> anyhow::Result<Done> {
        let Some(frame) = frame else {
            append(out, format_args!(r#"{{"hi":{{"id":"{HI_ID}","ver":"0.25","ua":"godwit-bench/1.0"}}}}"#));
            match &self.users[user as usize] {
                None => append(
                    out,
                    format_args!(
                        r#"{{"acc":{{"id":"{SIGN_IN_ID}","user":"new","scheme":"anonymous","login":true,"desc":{{"defacs":{{"auth":"JRWPA","anon":"JRWPA"}}}}}}}}"#
                    ),
                ),
                Some(User { token, .. }) => append(
                    out,
                    format_args!(
                        r#"{{"login":{{"id":"{SIGN_IN_ID}","scheme":"token","secret":"{token}"}}}}"#
                    ),
                ),
            }
            return Ok(Done::NotYet);
        };
        if reply_id(frame)? != Some(SIGN_IN_ID) {
            return Ok(Done::NotYet);
        }
        let Reply { ctrl } = serde_json::from_slice(frame).context("cannot parse a reply")?;
        self.users[user as usize] =
            Some(serde_json::from_value(ctrl.params).context("the reply names no user")?);
        Ok(Done::Yes)
    }

    fn plan_conversation(&mut self, members: &[u32]) -> u32 {
        self.conversations.push(Conversation { members: members.to_vec(), group: None });
        self.conversations.len() as u32 - 1
    }

    /// Everybody subscribes for as long as they are connected.
    fn join(
        &mut self,
        conversation: u32,
        user: u32,
        frame: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<Done> {
        let Some(frame) = frame else {
            let topic = self.topic(conversation, user);
            let access = match topic {
                "new" => r#","set":{"desc":{"defacs":{"auth":"JRWP","anon":"JRWP"}}}"#,
                _ => "",
            };
            append(out, format_args!(r#"{{"sub":{{"id":"{SUBSCRIBE_ID}","topic":"{topic}"{access}}}}}"#));
            return Ok(Done::NotYet);
        };
        if reply_id(frame)? != Some(SUBSCRIBE_ID) {
            return Ok(Done::NotYet);
        }
        let Conversation { members, group } = &mut self.conversations[conversation as usize];
        if members.len() > 2 && group.is_none() {
            let reply: Reply = serde_json::from_slice(frame).context("cannot parse a reply")?;
            *group = Some(reply.ctrl.topic);
        }
        Ok(Done::Yes)
    }

    fn send(&mut self, conversation: u32, user: u32, ticket: u32, text: &[u8], out: &mut Vec<u8>) {
        let topic = self.topic(conversation, user);
        frame::append(out, Opcode::Text, |out| {
            // Writing to memory cannot fail.
            let _ = write!(out, r#"{{"pub":{{"id":"{ticket}","topic":"{topic}","noecho":true,"content":""#);
            out.extend_from_slice(text);
            out.extend_from_slice(br#""}}"#);
        });
    }

    fn read(
        &mut self,
        _: u32,
        frame: &[u8],
        _: &mut Vec<u8>,
        each: &mut impl FnMut(Incoming),
    ) -> anyhow::Result<()> {
        if frame.starts_with(br#"{"data":"#) {
            if let Some(stamp) = Stamp::find(frame) {
                each(Incoming::Delivered { stamp, place: None });
            }
        } else if let Some(ticket) = reply_id(frame)?.and_then(|id| id.parse().ok()) {
            each(Incoming::Acknowledged { ticket });
        }
        Ok(())
    }
}

impl History for Tinode {
    const NEWEST_FIRST: bool = true;

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
        let topic = self.topic(conversation, user);
        append(
            out,
            format_args!(
                r#"{{"get":{{"id":"{PAGE_ID}","topic":"{topic}","what":"data","data":{{"limit":{messages}}}}}}}"#
            ),
        );
        Ok(())
    }

    /// A frame for each message, and one for the end.
    fn read_page(
        &mut self,
        _: u32,
        _: Option<u16>,
        frame: &[u8],
        _: &mut Vec<u8>,
        each: &mut impl FnMut(Stamp),
    ) -> anyhow::Result<Done> {
        if frame.starts_with(br#"{"data":"#) {
            Stamp::find(frame).into_iter().for_each(each);
        }
        Ok(if reply_id(frame)? == Some(PAGE_ID) { Done::Yes } else { Done::NotYet })
    }
}

fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    frame::append(out, Opcode::Text, |out| {
        // Writing to memory cannot fail.
        let _ = out.write_fmt(text);
    });
}

/// The command id of a reply. A reply with an error is an error.
fn reply_id(frame: &[u8]) -> anyhow::Result<Option<&str>> {
    let Some(rest) = frame.strip_prefix(CTRL) else { return Ok(None) };
    let end = memchr::memchr(b'"', rest).context("a reply is truncated")?;
    let code = memmem::rfind(rest, CODE).context("a reply has no code")?;
    let is_good = matches!(rest.get(code + CODE.len()), Some(b'2' | b'3'));
    ensure!(is_good, "the server refuses: {}", String::from_utf8_lossy(frame));
    Ok(Some(str::from_utf8(&rest[..end])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { stream: 3, number: 9, sent_ns: 77 };

    fn messenger() -> Tinode {
        let mut tinode = Tinode::new("127.0.0.1:80".parse().unwrap(), 3);
        let user = |id: &str| Some(User { id: id.into(), token: "t".into() });
        tinode.users = vec![user("usrA"), user("usrB"), user("usrC")];
        tinode.plan_conversation(&[0, 1]);
        tinode.plan_conversation(&[0, 1, 2]);
        tinode
    }

    fn read(frame: &str) -> anyhow::Result<Vec<Incoming>> {
        let mut came = Vec::new();
        messenger().read(0, frame.as_bytes(), &mut Vec::new(), &mut |incoming| came.push(incoming))?;
        Ok(came)
    }

    #[test]
    fn the_topic_of_a_direct_conversation_is_the_peer() {
        for (user, topic) in [(0, "usrB"), (1, "usrA")] {
            let mut out = Vec::new();
            messenger().send(0, user, 7, b"hello", &mut out);
            let expected =
                format!(r#"{{"pub":{{"id":"7","topic":"{topic}","noecho":true,"content":"hello"}}}}"#);
            assert_eq!(String::from_utf8_lossy(&out[6..]), expected);
        }
    }

    #[test]
    fn a_group_has_the_name_that_the_server_gives_it() {
        let (mut tinode, mut out) = (messenger(), Vec::new());
        assert_eq!(tinode.join(1, 0, None, &mut out).unwrap(), Done::NotYet);
        let made = br#"{"ctrl":{"id":"sub","topic":"grpX","params":{"tmpname":"new"},"code":200,"text":"ok","ts":"t"}}"#;
        assert_eq!(tinode.join(1, 0, Some(made), &mut out).unwrap(), Done::Yes);
        assert_eq!(tinode.topic(1, 2), "grpX");
    }

    /// As the server sent them.
    #[test]
    fn frames_are_parsed() {
        let mut text = Vec::new();
        STAMP.write(&mut text, 40);
        let text = String::from_utf8(text).unwrap();
        let data = format!(
            r#"{{"data":{{"topic":"usrA","from":"usrA","ts":"2026-01-01T00:00:00.000Z","seq":1,"content":"{text}"}}}}"#
        );
        assert_eq!(read(&data).unwrap(), [Incoming::Delivered { stamp: STAMP, place: None }]);
        let accepted =
            r#"{"ctrl":{"id":"7","topic":"usrB","params":{"seq":1},"code":202,"text":"accepted","ts":"t"}}"#;
        assert_eq!(read(accepted).unwrap(), [Incoming::Acknowledged { ticket: 7 }]);
        for other in [
            r#"{"pres":{"topic":"me","src":"usrB","what":"on"}}"#,
            r#"{"ctrl":{"id":"sub","topic":"usrB","code":200,"text":"ok","ts":"t"}}"#,
        ] {
            assert_eq!(read(other).unwrap(), [], "{other}");
        }
        assert!(read(r#"{"ctrl":{"id":"7","topic":"usrB","code":403,"text":"denied","ts":"t"}}"#).is_err());
    }

    #[test]
    fn a_page_ends_with_a_reply() {
        let read =
            |frame: &[u8]| messenger().read_page(0, None, frame, &mut Vec::new(), &mut |_| {}).unwrap();
        assert_eq!(read(br#"{"data":{"topic":"usrB","seq":1,"content":"x"}}"#), Done::NotYet);
        let all = br#"{"ctrl":{"id":"page","topic":"usrB","params":{"count":1,"what":"data"},"code":208,"text":"delivered","ts":"t"}}"#;
        assert_eq!(read(all), Done::Yes);
    }
}
