//! `/v1/conversations`, `/v1/sync`

use godwit_protocol::conversations::{
    Conversation, ConversationPage, CreateConversation, MemberCursor, Membership, MoveCursor,
    UpdateMembership,
};
use godwit_protocol::sync::SyncPage;
use godwit_protocol::{ConversationId, UserId};
use reqwest::Method;

use super::request::Request;
use super::{Created, Http};
use crate::Error;

impl Http {
    /// `POST /v1/conversations`
    pub async fn create_conversation(
        &self,
        create: &CreateConversation,
    ) -> Result<Created<Conversation>, Error> {
        self.call_created(Request::new(Method::POST, "/v1/conversations").json(create)?).await
    }

    /// The direct conversation with `user`, made if there is none.
    pub async fn direct(&self, user: UserId) -> Result<Created<Conversation>, Error> {
        self.create_conversation(&CreateConversation::Direct { user_id: user }).await
    }

    /// `GET /v1/conversations`: the inbox. `after` is the `next` of the page before.
    pub async fn conversations(
        &self,
        after: Option<&str>,
        limit: Option<u16>,
    ) -> Result<ConversationPage, Error> {
        self.call(Request::get("/v1/conversations").query("after", after).query("limit", limit)).await
    }

    /// `GET /v1/conversations?archived=true`
    pub async fn archived_conversations(
        &self,
        after: Option<&str>,
        limit: Option<u16>,
    ) -> Result<ConversationPage, Error> {
        let request = Request::get("/v1/conversations").query("archived", Some(true));
        self.call(request.query("after", after).query("limit", limit)).await
    }

    /// `GET /v1/conversations/{id}`
    pub async fn conversation(&self, conversation: ConversationId) -> Result<Conversation, Error> {
        self.call(Request::get(format!("/v1/conversations/{conversation}"))).await
    }

    /// `PATCH /v1/conversations/{id}/me`
    pub async fn update_membership(
        &self,
        conversation: ConversationId,
        update: &UpdateMembership,
    ) -> Result<Membership, Error> {
        let path = format!("/v1/conversations/{conversation}/me");
        self.call(Request::new(Method::PATCH, path).json(update)?).await
    }

    /// `PUT /v1/conversations/{id}/cursor`
    pub async fn move_cursor(
        &self,
        conversation: ConversationId,
        cursor: &MoveCursor,
    ) -> Result<MemberCursor, Error> {
        let path = format!("/v1/conversations/{conversation}/cursor");
        self.call(Request::new(Method::PUT, path).json(cursor)?).await
    }

    /// `GET /v1/sync`. `since` is the token of the page before.
    pub async fn sync(&self, since: Option<&str>, limit: Option<u16>) -> Result<SyncPage, Error> {
        self.call(Request::get("/v1/sync").query("since", since).query("limit", limit)).await
    }
}
