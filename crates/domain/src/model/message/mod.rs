//! Messages and their content.
//!
//! - [`body`]: the content; [`text`]: validation of texts, previews and mentions

mod body;
#[cfg(test)]
mod tests;
mod text;

use godwit_protocol::limits::CLIENT_ID_BYTES_MAX;
use godwit_protocol::messages as wire;
use godwit_protocol::{MessageId, Timestamp, UserId};
use serde::{Deserialize, Serialize};

pub(crate) use self::body::BodyParts;
pub use self::body::{Media, MessageBody};
pub use self::text::parse_reaction;
pub(crate) use self::text::{called_names, parse_text, preview_of};
use super::entry::Target;
use super::field::InvalidField;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub sender_id: UserId,
    pub client_id: ClientId,
    pub body: MessageBody,
    pub reply: Option<Reply>,
    pub forwarded_from: Option<Forwarded>,
    pub mentions: Mentions,
    /// When the message expires.
    pub expires_at: Option<Timestamp>,
}

/// The message that a reply answers, and the root of the thread: the same message, or the one that it replies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub to: Target,
    pub root: Target,
}

/// The users that a message mentions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mentions {
    pub users: Vec<UserId>,
    pub all: bool,
}

/// A message as a client wants to send it, validated as far as possible without reading any state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub client_id: ClientId,
    /// `None` in a forward, whose body is copied when it is sent, and in the record of a scheduled message that was sent.
    pub body: Option<MessageBody>,
    pub reply_to: Option<MessageId>,
    pub forwarded_from: Option<MessageId>,
}

/// The idempotency key of a message, which the sender's client chooses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientId(Box<str>);

/// The origin of a forwarded message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forwarded {
    pub message_id: MessageId,
    pub sender_id: UserId,
}

impl Draft {
    pub fn parse(request: wire::SendMessage) -> Result<Self, InvalidField> {
        let client_id = ClientId::parse(&request.client_id)?;
        let (reply_to, forwarded_from) = (request.reply_to, request.forwarded_from);
        let wire::SendMessage { kind, text, media, event, data, .. } = request;
        let is_empty =
            kind.is_none() && text.is_none() && media.is_none() && event.is_none() && data.is_none();
        let body = if forwarded_from.is_some() && is_empty {
            None
        } else {
            let kind = kind.ok_or_else(|| InvalidField::new("kind", "is required"))?;
            Some(MessageBody::parse(kind, text, media, event, data.as_ref())?)
        };
        Ok(Self { client_id, body, reply_to, forwarded_from })
    }
}

impl ClientId {
    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        let valid =
            (1..=CLIENT_ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if valid {
            Ok(Self(text.into()))
        } else {
            Err(InvalidField::new(
                "client_id",
                format!("must have 1 to {CLIENT_ID_BYTES_MAX} printable ASCII characters"),
            ))
        }
    }

    /// For stores: does not validate, because the text was validated before it was written.
    pub fn from_stored(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<ClientId> for String {
    fn from(id: ClientId) -> Self {
        id.0.into()
    }
}

impl Mentions {
    pub const fn is_empty(&self) -> bool {
        self.users.is_empty() && !self.all
    }

    pub(crate) fn into_wire(self) -> wire::Mentions {
        wire::Mentions { user_ids: self.users, all: self.all }
    }
}
