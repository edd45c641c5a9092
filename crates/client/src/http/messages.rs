//! `/v1/conversations/{id}/messages`, `…/log`, `/v1/messages`

use std::fmt;

use godwit_protocol::messages::{LogPage, Message, MessagePage, ReceiptList, SendMessage};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp};
use reqwest::Method;

use super::request::Request;
use super::{Created, Http};
use crate::Error;

/// Which part of the history is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    Newest,
    Before(Position),
    After(Position),
    Around(Position),
    BeforeTime(Timestamp),
}

/// A place in the history: a message, or a position in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    Message(MessageId),
    Seq(Seq),
}

impl From<MessageId> for Position {
    fn from(id: MessageId) -> Self {
        Self::Message(id)
    }
}

impl From<Seq> for Position {
    fn from(seq: Seq) -> Self {
        Self::Seq(seq)
    }
}

/// Both are written as a number: the server takes one below 2^53 for a position, and every id is above.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(id) => id.fmt(f),
            Self::Seq(seq) => seq.fmt(f),
        }
    }
}

impl Http {
    /// `POST /v1/conversations/{id}/messages`. Takes a [`Draft`](crate::Draft) or the message itself.
    pub async fn send_message(
        &self,
        conversation: ConversationId,
        message: impl Into<SendMessage>,
    ) -> Result<Created<Message>, Error> {
        let path = format!("/v1/conversations/{conversation}/messages");
        self.call_created(Request::new(Method::POST, path).json(&message.into())?).await
    }

    /// `GET /v1/conversations/{id}/messages`
    pub async fn messages(
        &self,
        conversation: ConversationId,
        history: History,
        limit: Option<u16>,
    ) -> Result<MessagePage, Error> {
        let request = Request::get(format!("/v1/conversations/{conversation}/messages"));
        let request = match history {
            History::Newest => request,
            History::Before(position) => request.query("before", Some(position)),
            History::After(position) => request.query("after", Some(position)),
            History::Around(position) => request.query("around", Some(position)),
            History::BeforeTime(time) => request.query("before_time", Some(time)),
        };
        self.call(request.query("limit", limit)).await
    }

    /// `GET /v1/conversations/{id}/log?after=`
    pub async fn log(
        &self,
        conversation: ConversationId,
        after: Seq,
        limit: Option<u16>,
    ) -> Result<LogPage, Error> {
        let request = Request::get(format!("/v1/conversations/{conversation}/log"));
        self.call(request.query("after", Some(after)).query("limit", limit)).await
    }

    /// `GET /v1/messages/{id}`
    pub async fn message(&self, message: MessageId) -> Result<Message, Error> {
        self.call(Request::get(format!("/v1/messages/{message}"))).await
    }

    /// `GET /v1/messages/{id}/receipts`
    pub async fn receipts(&self, message: MessageId) -> Result<ReceiptList, Error> {
        self.call(Request::get(format!("/v1/messages/{message}/receipts"))).await
    }
}
