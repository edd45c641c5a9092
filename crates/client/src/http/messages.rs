//! `/v1/conversations/{id}/messages`, `…/log`, `/v1/messages`

use godwit_protocol::conversations::DeleteFor;
use godwit_protocol::messages::{
    EditList, EditMessage, LogPage, Message, MessagePage, PinList, React, ReactionPage, ReceiptList,
    SendMessage, ThreadPage,
};
use godwit_protocol::{ConversationId, MessageId, Seq};
use reqwest::Method;

use super::request::Request;
use super::{Created, Http};
use crate::{Error, History};

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
        let asked = history.of(conversation, limit);
        let request = request.query("before", asked.before).query("after", asked.after);
        let request = request.query("around", asked.around).query("before_time", asked.before_time);
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

    /// `GET /v1/messages/{id}/receipts`: the first page, which is all of them unless there are many members.
    pub async fn receipts(&self, message: MessageId) -> Result<ReceiptList, Error> {
        self.receipts_after(message, None, None).await
    }

    /// `GET /v1/messages/{id}/receipts`. `after` is the `next` of the previous page.
    pub async fn receipts_after(
        &self,
        message: MessageId,
        after: Option<&str>,
        limit: Option<u16>,
    ) -> Result<ReceiptList, Error> {
        let request = Request::get(format!("/v1/messages/{message}/receipts"));
        self.call(request.query("after", after).query("limit", limit)).await
    }

    /// `PATCH /v1/messages/{id}`: replaces the text or the caption.
    pub async fn edit_message(&self, message: MessageId, text: impl Into<String>) -> Result<Message, Error> {
        let edit = EditMessage { message_id: None, text: text.into() };
        self.call(Request::new(Method::PATCH, format!("/v1/messages/{message}")).json(&edit)?).await
    }

    /// `DELETE /v1/messages/{id}?for=`
    pub async fn delete_message(&self, message: MessageId, whom: DeleteFor) -> Result<(), Error> {
        let request = Request::new(Method::DELETE, format!("/v1/messages/{message}"));
        self.call_empty(request.query("for", Some(super::delete_for(whom)))).await
    }

    /// `GET /v1/messages/{id}/edits`
    pub async fn edits(&self, message: MessageId, after: Option<&str>) -> Result<EditList, Error> {
        self.call(Request::get(format!("/v1/messages/{message}/edits")).query("after", after)).await
    }

    /// `PUT /v1/messages/{id}/reaction`
    pub async fn react(&self, message: MessageId, reaction: impl Into<String>) -> Result<Message, Error> {
        let react = React { message_id: None, reaction: reaction.into() };
        self.call(Request::new(Method::PUT, format!("/v1/messages/{message}/reaction")).json(&react)?).await
    }

    /// `DELETE /v1/messages/{id}/reaction`
    pub async fn unreact(&self, message: MessageId) -> Result<Message, Error> {
        self.call(Request::new(Method::DELETE, format!("/v1/messages/{message}/reaction"))).await
    }

    /// `GET /v1/messages/{id}/reactions`. `after` is the `next` of the previous page.
    pub async fn reactions(
        &self,
        message: MessageId,
        after: Option<&str>,
        limit: Option<u16>,
    ) -> Result<ReactionPage, Error> {
        let request = Request::get(format!("/v1/messages/{message}/reactions"));
        self.call(request.query("after", after).query("limit", limit)).await
    }

    /// `GET /v1/messages/{id}/thread`. `after` is the `next` of the previous page.
    pub async fn thread(
        &self,
        message: MessageId,
        after: Option<&str>,
        limit: Option<u16>,
    ) -> Result<ThreadPage, Error> {
        let request = Request::get(format!("/v1/messages/{message}/thread"));
        self.call(request.query("after", after).query("limit", limit)).await
    }

    /// `PUT /v1/messages/{id}/pin`
    pub async fn pin_message(&self, message: MessageId) -> Result<(), Error> {
        self.call_empty(Request::new(Method::PUT, format!("/v1/messages/{message}/pin"))).await
    }

    /// `DELETE /v1/messages/{id}/pin`
    pub async fn unpin_message(&self, message: MessageId) -> Result<(), Error> {
        self.call_empty(Request::new(Method::DELETE, format!("/v1/messages/{message}/pin"))).await
    }

    /// `GET /v1/conversations/{id}/pins`
    pub async fn pins(&self, conversation: ConversationId, after: Option<&str>) -> Result<PinList, Error> {
        self.call(Request::get(format!("/v1/conversations/{conversation}/pins")).query("after", after)).await
    }
}
