//! `/v1/conversations/{id}/members`, `…/bans`, `…/owner`, `…/join`, `…/leave`, `…/invites`, `/v1/invites`,
//! `/v1/refused-groups`

use godwit_protocol::conversations::{Conversation, Role};
use godwit_protocol::groups::{
    AddMembers, AddedMembers, BanPage, CreateInvite, Invite, InviteList, InvitePreview, MemberPage, OfMember,
    RefusedGroups, SetRole,
};
use godwit_protocol::{ConversationId, InviteId, UserId};
use reqwest::Method;

use super::Http;
use super::request::Request;
use crate::Error;

/// Selects members.
#[derive(Debug, Clone, Copy, Default)]
pub struct Members<'a> {
    pub role: Option<Role>,
    /// A prefix of the handle, or of a word of the name.
    pub query: Option<&'a str>,
    /// The `next` of the previous page.
    pub after: Option<&'a str>,
    pub limit: Option<u16>,
}

impl Http {
    /// `GET /v1/conversations/{id}/members`
    pub async fn members(
        &self,
        conversation: ConversationId,
        asked: Members<'_>,
    ) -> Result<MemberPage, Error> {
        let role = asked.role.map(|role| match role {
            Role::Owner => "owner",
            Role::Admin => "admin",
            Role::Member => "member",
        });
        let request = Request::get(format!("/v1/conversations/{conversation}/members"));
        let request = request.query("role", role).query("query", asked.query);
        self.call(request.query("after", asked.after).query("limit", asked.limit)).await
    }

    /// `POST /v1/conversations/{id}/members`
    pub async fn add_members(
        &self,
        conversation: ConversationId,
        users: &[UserId],
    ) -> Result<AddedMembers, Error> {
        let add = AddMembers { conversation_id: None, user_ids: users.to_vec() };
        let path = format!("/v1/conversations/{conversation}/members");
        self.call(Request::new(Method::POST, path).json(&add)?).await
    }

    /// `PATCH /v1/conversations/{id}/members/{user_id}`
    pub async fn set_role(
        &self,
        conversation: ConversationId,
        user: UserId,
        role: Role,
    ) -> Result<(), Error> {
        let set = SetRole { conversation_id: None, user_id: None, role };
        let path = format!("/v1/conversations/{conversation}/members/{user}");
        self.call_empty(Request::new(Method::PATCH, path).json(&set)?).await
    }

    /// `DELETE /v1/conversations/{id}/members/{user_id}`
    pub async fn remove_member(&self, conversation: ConversationId, user: UserId) -> Result<(), Error> {
        let path = format!("/v1/conversations/{conversation}/members/{user}");
        self.call_empty(Request::new(Method::DELETE, path)).await
    }

    /// `GET /v1/conversations/{id}/bans`. `after` is the `next` of the previous page.
    pub async fn bans(
        &self,
        conversation: ConversationId,
        after: Option<&str>,
        limit: Option<u16>,
    ) -> Result<BanPage, Error> {
        let request = Request::get(format!("/v1/conversations/{conversation}/bans"));
        self.call(request.query("after", after).query("limit", limit)).await
    }

    /// `PUT /v1/conversations/{id}/bans/{user_id}`
    pub async fn ban(&self, conversation: ConversationId, user: UserId) -> Result<(), Error> {
        let path = format!("/v1/conversations/{conversation}/bans/{user}");
        self.call_empty(Request::new(Method::PUT, path)).await
    }

    /// `DELETE /v1/conversations/{id}/bans/{user_id}`
    pub async fn unban(&self, conversation: ConversationId, user: UserId) -> Result<(), Error> {
        let path = format!("/v1/conversations/{conversation}/bans/{user}");
        self.call_empty(Request::new(Method::DELETE, path)).await
    }

    /// `PUT /v1/conversations/{id}/owner`
    pub async fn transfer_ownership(&self, conversation: ConversationId, to: UserId) -> Result<(), Error> {
        let transfer = OfMember { conversation_id: None, user_id: to };
        let path = format!("/v1/conversations/{conversation}/owner");
        self.call_empty(Request::new(Method::PUT, path).json(&transfer)?).await
    }

    /// `POST /v1/conversations/{id}/join`
    pub async fn join(&self, conversation: ConversationId) -> Result<Conversation, Error> {
        self.call(Request::new(Method::POST, format!("/v1/conversations/{conversation}/join"))).await
    }

    /// `POST /v1/conversations/{id}/leave`
    pub async fn leave(&self, conversation: ConversationId) -> Result<(), Error> {
        self.call_empty(Request::new(Method::POST, format!("/v1/conversations/{conversation}/leave"))).await
    }

    /// `POST /v1/conversations/{id}/leave?block=true`: blocks the member who added the user, and nobody can add the user
    /// again.
    pub async fn leave_for_good(&self, conversation: ConversationId) -> Result<(), Error> {
        let request = Request::new(Method::POST, format!("/v1/conversations/{conversation}/leave"));
        self.call_empty(request.query("block", Some(true))).await
    }

    /// `GET /v1/refused-groups`: the conversations that the user has left for good.
    pub async fn refused_groups(&self) -> Result<RefusedGroups, Error> {
        self.call(Request::get("/v1/refused-groups")).await
    }

    /// `DELETE /v1/refused-groups/{id}`: others can add the user again.
    pub async fn allow_group(&self, conversation: ConversationId) -> Result<(), Error> {
        self.call_empty(Request::new(Method::DELETE, format!("/v1/refused-groups/{conversation}"))).await
    }

    /// `GET /v1/conversations/{id}/invites`
    pub async fn invites(&self, conversation: ConversationId) -> Result<InviteList, Error> {
        self.call(Request::get(format!("/v1/conversations/{conversation}/invites"))).await
    }

    /// `POST /v1/conversations/{id}/invites`
    pub async fn create_invite(
        &self,
        conversation: ConversationId,
        invite: &CreateInvite,
    ) -> Result<Invite, Error> {
        let path = format!("/v1/conversations/{conversation}/invites");
        self.call(Request::new(Method::POST, path).json(invite)?).await
    }

    /// `DELETE /v1/conversations/{id}/invites/{invite_id}`
    pub async fn revoke_invite(&self, conversation: ConversationId, invite: InviteId) -> Result<(), Error> {
        let path = format!("/v1/conversations/{conversation}/invites/{invite}");
        self.call_empty(Request::new(Method::DELETE, path)).await
    }

    /// `GET /v1/invites/{token}`
    pub async fn invite_preview(&self, token: &str) -> Result<InvitePreview, Error> {
        self.call(Request::get(format!("/v1/invites/{token}"))).await
    }

    /// `POST /v1/invites/{token}/join`
    pub async fn join_by_invite(&self, token: &str) -> Result<Conversation, Error> {
        self.call(Request::new(Method::POST, format!("/v1/invites/{token}/join"))).await
    }
}
