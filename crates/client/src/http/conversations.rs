//! `/v1/conversations`, `/v1/sync`

use godwit_protocol::conversations::{
    Conversation, ConversationPage, CreateConversation, CreatedConversation, DeleteFor, MemberCursor,
    Membership, MoveCursor, NewConversation, OrderPinned, UpdateConversation, UpdateMembership,
};
use godwit_protocol::sync::{GoneList, SyncPage};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use reqwest::Method;

use super::request::Request;
use super::{Created, Http};
use crate::Error;

impl Http {
    /// `POST /v1/conversations`
    pub async fn create_conversation(
        &self,
        create: &CreateConversation,
    ) -> Result<Created<CreatedConversation>, Error> {
        self.call_created(Request::new(Method::POST, "/v1/conversations").json(create)?).await
    }

    /// The direct conversation with `user`. Creates it if there is none.
    pub async fn direct(&self, user: UserId) -> Result<Created<Conversation>, Error> {
        let Created { value, is_new } =
            self.create_conversation(&CreateConversation::Direct { user_id: user }).await?;
        Ok(Created { value: value.conversation, is_new })
    }

    /// A new group with these members.
    pub async fn group(&self, name: &str, members: &[UserId]) -> Result<CreatedConversation, Error> {
        let new =
            NewConversation { name: name.into(), member_ids: members.to_vec(), ..NewConversation::default() };
        self.create_conversation(&CreateConversation::Group(new)).await.map(|created| created.value)
    }

    /// `PATCH /v1/conversations/{id}`
    pub async fn update_conversation(
        &self,
        conversation: ConversationId,
        update: &UpdateConversation,
    ) -> Result<Conversation, Error> {
        let path = format!("/v1/conversations/{conversation}");
        self.call(Request::new(Method::PATCH, path).json(update)?).await
    }

    /// `DELETE /v1/conversations/{id}?for=me&up_to=`. `head` is the newest entry that the user has seen; later ones stay.
    pub async fn delete_conversation_for_me(
        &self,
        conversation: ConversationId,
        head: Seq,
    ) -> Result<(), Error> {
        let request = delete(conversation, DeleteFor::Me);
        self.call_empty(request.query("up_to", Some(head))).await
    }

    /// `DELETE /v1/conversations/{id}?for=all`
    pub async fn delete_conversation_for_all(&self, conversation: ConversationId) -> Result<(), Error> {
        self.call_empty(delete(conversation, DeleteFor::All)).await
    }

    /// `GET /v1/conversations/gone?since=`
    pub async fn gone_conversations(&self, since: Timestamp) -> Result<GoneList, Error> {
        self.call(Request::get("/v1/conversations/gone").query("since", Some(since))).await
    }

    /// `PUT /v1/conversations/pinned`
    pub async fn order_pinned(&self, conversations: &[ConversationId]) -> Result<(), Error> {
        let order = OrderPinned { conversation_ids: conversations.to_vec() };
        self.call_empty(Request::new(Method::PUT, "/v1/conversations/pinned").json(&order)?).await
    }

    /// `GET /v1/conversations`: the inbox. `after` is the `next` of the previous page.
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

    /// `GET /v1/sync`. `since` is the token of the previous page.
    pub async fn sync(&self, since: Option<&str>, limit: Option<u16>) -> Result<SyncPage, Error> {
        self.call(Request::get("/v1/sync").query("since", since).query("limit", limit)).await
    }
}

fn delete(conversation: ConversationId, whom: DeleteFor) -> Request {
    let request = Request::new(Method::DELETE, format!("/v1/conversations/{conversation}"));
    request.query("for", Some(super::delete_for(whom)))
}
