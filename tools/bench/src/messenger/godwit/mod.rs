//! Godwit's WebSocket at `/v1/ws`.

#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use godwit_protocol::conversations::{CreateConversation, CreatedConversation, NewConversation};
use godwit_protocol::groups::{AddMembers, AddedMembers};
use godwit_protocol::limits::MEMBERS_ADDED_AT_ONCE_MAX;
use godwit_protocol::socket::{Command, CommandFrame, Event, OkFrame};
use godwit_protocol::{ConversationId, UserId};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use memchr::memmem::Finder;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::stamp::Stamp;
use super::{Done, History, Incoming, Messenger};
use crate::wire::frame::{self, Opcode};

/// The first id of commands that send no message. Tickets are below.
const SETUP_ID: u64 = 1 << 32;
/// The lifetime of a token. A server accepts at most one day.
const TOKEN_SECS: u64 = 23 * 60 * 60;
const SEQ: &[u8] = br#""seq":"#;

pub(crate) struct Godwit {
    address: SocketAddr,
    key: EncodingKey,
    /// Separates users and client ids of this run from those of others on the same server.
    run: String,
    users: Vec<Option<UserId>>,
    conversations: Vec<Conversation>,
    /// Finds the position of an entry in its log.
    seq: Finder<'static>,
    /// Whether pages are read over HTTP instead of the members' sockets.
    reads_over_http: bool,
}

struct Conversation {
    members: Vec<u32>,
    /// The number of members that were requested.
    asked: usize,
    id: Option<ConversationId>,
    /// The bytes between the two tickets in the frame of a send.
    middle: Vec<u8>,
    /// The header line of the member who reads it, once there is one.
    authorization: Option<String>,
}

impl Godwit {
    /// `key` is the application secret of the server.
    pub(crate) fn new(address: SocketAddr, key: &str, users: usize, run: String) -> Self {
        let key = EncodingKey::from_secret(key.as_bytes());
        Self {
            address,
            key,
            run,
            users: vec![None; users],
            conversations: Vec::new(),
            seq: Finder::new(SEQ),
            reads_over_http: false,
        }
    }

    /// Reads pages over HTTP, if requested.
    pub(crate) fn reading_over_http(self, reads_over_http: bool) -> Self {
        Self { reads_over_http, ..self }
    }

    /// The token of a user, which outlives any run.
    pub(crate) fn token(&self, user: u32) -> anyhow::Result<String> {
        let expires_at = jsonwebtoken::get_current_timestamp() + TOKEN_SECS;
        let claims = json!({ "sub": format!("bench-{}-{user}", self.run), "exp": expires_at });
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.key)
            .context("cannot sign a token")
    }

    pub(crate) fn conversation_id(&self, conversation: u32) -> anyhow::Result<ConversationId> {
        self.conversations[conversation as usize].id.context("the conversation does not exist yet")
    }

    /// Appends a typing command.
    pub(crate) fn type_in(&self, conversation: u32, out: &mut Vec<u8>) {
        self.command(conversation, "typing", r#","typing":true"#, out);
    }

    /// Appends a command that marks everything up to an entry as read.
    pub(crate) fn mark_read(&self, conversation: u32, seq: u64, out: &mut Vec<u8>) {
        self.command(conversation, "cursor", &format!(r#","read":{seq}"#), out);
    }

    /// Appends a command that reads the entries after one.
    pub(crate) fn read_log(&self, conversation: u32, after: u64, out: &mut Vec<u8>) {
        self.command(conversation, "log", &format!(r#","after":{after}"#), out);
    }

    /// Appends the request for a page: the messages before a position in the log, or the newest ones.
    pub(crate) fn ask_page(
        &mut self,
        conversation: u32,
        user: u32,
        before: Option<u64>,
        messages: u32,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<()> {
        let id = self.conversation_id(conversation)?;
        if !self.reads_over_http {
            let before = before.map(|before| format!(r#","before":{before}"#)).unwrap_or_default();
            self.command(conversation, "history", &format!(r#","limit":{messages}{before}"#), out);
            return Ok(());
        }
        let authorization = match &self.conversations[conversation as usize].authorization {
            Some(authorization) => authorization,
            None => {
                let authorization = format!("authorization: Bearer {}\r\n", self.token(user)?);
                self.conversations[conversation as usize].authorization.insert(authorization)
            }
        };
        // Writing to memory cannot fail.
        let _ = write!(out, "GET /v1/conversations/{id}/messages?limit={messages}");
        if let Some(before) = before {
            let _ = write!(out, "&before={before}");
        }
        let _ = write!(out, " HTTP/1.1\r\nhost: {}\r\n{authorization}\r\n", self.address);
        Ok(())
    }

    /// A command that sends no message.
    fn command(&self, conversation: u32, name: &str, fields: &str, out: &mut Vec<u8>) {
        if let Some(id) = self.conversations[conversation as usize].id {
            frame::append(out, Opcode::Text, |out| {
                // Writing to memory cannot fail.
                let _ = write!(out, r#"{{"id":{SETUP_ID},"{name}":{{"conversation_id":"{id}"{fields}}}}}"#);
            });
        }
    }

    fn user_id(&self, user: u32) -> anyhow::Result<UserId> {
        self.users[user as usize].with_context(|| format!("user {user} has not signed in"))
    }

    fn place(&self, entry: &[u8]) -> Option<u64> {
        number(&entry[self.seq.find(entry)? + SEQ.len()..])
    }

    /// The next members to request.
    fn next_members(&mut self, conversation: u32) -> anyhow::Result<Vec<UserId>> {
        let Conversation { members, asked, .. } = &mut self.conversations[conversation as usize];
        let next: Vec<u32> = members.iter().copied().skip(*asked).take(MEMBERS_ADDED_AT_ONCE_MAX).collect();
        *asked += next.len();
        next.into_iter().map(|member| self.user_id(member)).collect()
    }

    fn opening(&mut self, conversation: u32) -> anyhow::Result<Command> {
        let first = self.next_members(conversation)?;
        Ok(Command::OpenConversation(
            match (&self.conversations[conversation as usize].members[..], &first[..]) {
                ([_, _], [peer]) => CreateConversation::Direct { user_id: *peer },
                _ => CreateConversation::Group(NewConversation {
                    name: format!("Group {conversation}"),
                    member_ids: first,
                    ..NewConversation::default()
                }),
            },
        ))
    }

    fn adding(&mut self, conversation: u32) -> anyhow::Result<Option<Command>> {
        let user_ids = self.next_members(conversation)?;
        let conversation_id = self.conversations[conversation as usize].id;
        Ok((!user_ids.is_empty()).then_some(Command::AddMembers(AddMembers { conversation_id, user_ids })))
    }

    /// Processes the reply to the last request of a conversation.
    fn take_reply(&mut self, conversation: u32, reply: &[u8]) -> anyhow::Result<()> {
        if self.conversations[conversation as usize].id.is_some() {
            let added: AddedMembers = ok(reply)?;
            ensure!(added.results.iter().all(|result| result.added), "some members could not be added");
            return Ok(());
        }
        let made: CreatedConversation = ok(reply)?;
        ensure!(made.refused.is_empty(), "some members were refused: {:?}", made.refused[0]);
        let (id, run) = (made.conversation.id, &self.run);
        let place = &mut self.conversations[conversation as usize];
        place.middle = format!(r#","send":{{"conversation_id":"{id}","client_id":"{run}-"#).into_bytes();
        place.id = Some(id);
        Ok(())
    }
}

impl Messenger for Godwit {
    fn name(&self) -> &'static str {
        "godwit"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn move_to(&mut self, address: SocketAddr) {
        self.address = address;
    }

    fn handshake(&mut self, user: u32) -> anyhow::Result<(String, String)> {
        Ok(("/v1/ws".to_owned(), format!("authorization: Bearer {}\r\n", self.token(user)?)))
    }

    /// The handshake signs in; the first frame contains the user.
    fn sign_in(&mut self, user: u32, frame: Option<&[u8]>, _: &mut Vec<u8>) -> anyhow::Result<Done> {
        let Some(frame) = frame else { return Ok(Done::NotYet) };
        let Event::Hello(hello) = serde_json::from_slice(frame).context("the first frame is not an event")?
        else {
            bail!("the first frame is not a hello");
        };
        let signed_in = hello.signed_in.context("the hello does not say who signed in")?;
        self.users[user as usize] = Some(signed_in.user_id);
        Ok(Done::Yes)
    }

    fn plan_conversation(&mut self, members: &[u32]) -> u32 {
        let number = self.conversations.len() as u32;
        self.conversations.push(Conversation {
            members: members.to_vec(),
            asked: 1,
            id: None,
            middle: Vec::new(),
            authorization: None,
        });
        number
    }

    /// The first member creates the conversation with all the others, who need do nothing.
    fn join(
        &mut self,
        conversation: u32,
        user: u32,
        frame: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<Done> {
        let Conversation { members, id, .. } = &self.conversations[conversation as usize];
        let was_made_before = frame.is_none() && id.is_some();
        if members.first() != Some(&user) || was_made_before {
            return Ok(Done::Yes);
        }
        let id = SETUP_ID + u64::from(conversation);
        let next = match frame {
            None => Some(self.opening(conversation)?),
            Some(frame) if reply_id(frame) == Some(id) => {
                self.take_reply(conversation, frame)?;
                self.adding(conversation)?
            }
            Some(_) => return Ok(Done::NotYet),
        };
        let Some(command) = next else { return Ok(Done::Yes) };
        let text = serde_json::to_vec(&CommandFrame { id, command })?;
        frame::append(out, Opcode::Text, |out| out.extend_from_slice(&text));
        Ok(Done::NotYet)
    }

    fn send(&mut self, conversation: u32, _: u32, ticket: u32, text: &[u8], out: &mut Vec<u8>) {
        let middle = &self.conversations[conversation as usize].middle;
        frame::append(out, Opcode::Text, |out| {
            // Writing to memory cannot fail.
            let _ = write!(out, r#"{{"id":{ticket}"#);
            out.extend_from_slice(middle);
            let _ = write!(out, r#"{ticket}","kind":"text","text":""#);
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
        if frame.starts_with(br#"{"entry":"#) {
            // Entries other than messages have no stamp: a user joined, or the conversation was created.
            if let Some(stamp) = Stamp::find(frame) {
                each(Incoming::Delivered { stamp, place: self.place(frame) });
            }
        } else if let Some(id) = reply_id(frame) {
            ensure!(is_ok(frame), "the server refuses: {}", String::from_utf8_lossy(frame));
            if let Ok(ticket) = u32::try_from(id) {
                each(Incoming::Acknowledged { ticket });
            }
        } else if frame.starts_with(br#"{"error":"#) || frame.starts_with(br#"{"reconnect":"#) {
            bail!("the server says: {}", String::from_utf8_lossy(frame));
        }
        Ok(())
    }
}

impl History for Godwit {
    fn pages_at(&self) -> Option<SocketAddr> {
        self.reads_over_http.then_some(self.address)
    }

    fn ask_newest(
        &mut self,
        conversation: u32,
        user: u32,
        messages: u32,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<()> {
        self.ask_page(conversation, user, None, messages, out)
    }

    fn read_page(
        &mut self,
        _: u32,
        status: Option<u16>,
        page: &[u8],
        _: &mut Vec<u8>,
        each: &mut impl FnMut(Stamp),
    ) -> anyhow::Result<Done> {
        let is_good = match status {
            Some(status) => status == 200,
            None if reply_id(page).is_none() => return Ok(Done::NotYet),
            None => is_ok(page),
        };
        ensure!(is_good, "a page is refused: {status:?} {}", String::from_utf8_lossy(page));
        Stamp::all(page).for_each(each);
        Ok(Done::Yes)
    }
}

/// The content of a reply, which must be a success.
fn ok<T: DeserializeOwned>(reply: &[u8]) -> anyhow::Result<T> {
    let reply: OkFrame<T> = serde_json::from_slice(reply)
        .with_context(|| format!("the server refuses: {}", String::from_utf8_lossy(reply)))?;
    Ok(reply.ok)
}

const REPLY: &[u8] = br#"{"id":"#;

/// The command id of a reply. `None` for events.
fn reply_id(frame: &[u8]) -> Option<u64> {
    number(frame.strip_prefix(REPLY)?)
}

fn is_ok(reply: &[u8]) -> bool {
    let rest = reply[REPLY.len()..].trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    rest[digits..].starts_with(br#","ok":"#)
}

/// The number at the start of some bytes.
fn number(bytes: &[u8]) -> Option<u64> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(None, |number: Option<u64>, digit| {
        Some(number.unwrap_or(0).wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
    })
}
