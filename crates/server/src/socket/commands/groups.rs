//! Commands on conversations and their members.

use godwit_protocol::conversations::{
    Conversation, CreateConversation, CreatedConversation, DeleteConversation, Membership, OfConversation,
    OrderPinned, UpdateConversation, UpdateMembership,
};
use godwit_protocol::groups::{
    AddMembers, AddedMembers, CreateInvite, Invite, JoinByInvite, Leave, OfMember, RevokeInvite, SetRole,
};
use godwit_protocol::socket::Empty;

use super::{Connection, needed};
use crate::api::conversations::{add_members, create, delete_for, order_pinned};
use crate::api::invites::{new_token, parse_token};
use crate::problem::ApiResult;

impl Connection {
    pub(super) async fn open_conversation(
        &self,
        request: CreateConversation,
    ) -> ApiResult<CreatedConversation> {
        let by = self.limited_caller()?;
        let (created, _) = create(&self.state, by, request).await?;
        Ok(created)
    }

    pub(super) async fn update_conversation(&self, request: UpdateConversation) -> ApiResult<Conversation> {
        let by = self.limited_caller()?;
        let id = needed("conversation_id", request.conversation_id)?;
        Ok(self.state.app.groups.update(by, id, &request).await?)
    }

    pub(super) async fn delete_conversation(&self, request: DeleteConversation) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        delete_for(&self.state, by, request).await?;
        Ok(Empty {})
    }

    pub(super) async fn add_members(&self, request: AddMembers) -> ApiResult<AddedMembers> {
        let by = self.limited_caller()?;
        let id = needed("conversation_id", request.conversation_id)?;
        add_members(&self.state, by, id, &request.user_ids).await
    }

    pub(super) async fn remove_member(&self, request: OfMember) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        let id = needed("conversation_id", request.conversation_id)?;
        self.state.app.groups.remove_member(by, id, request.user_id).await?;
        Ok(Empty {})
    }

    pub(super) async fn ban(&self, request: OfMember) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        let id = needed("conversation_id", request.conversation_id)?;
        self.state.app.groups.ban(by, id, request.user_id).await?;
        Ok(Empty {})
    }

    pub(super) async fn unban(&self, request: OfMember) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        let id = needed("conversation_id", request.conversation_id)?;
        self.state.app.groups.unban(by, id, request.user_id).await?;
        Ok(Empty {})
    }

    pub(super) async fn set_role(&self, request: SetRole) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        let id = needed("conversation_id", request.conversation_id)?;
        let user = needed("user_id", request.user_id)?;
        self.state.app.groups.set_role(by, id, user, request.role).await?;
        Ok(Empty {})
    }

    pub(super) async fn transfer_ownership(&self, request: OfMember) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        let id = needed("conversation_id", request.conversation_id)?;
        self.state.app.groups.transfer_ownership(by, id, request.user_id).await?;
        Ok(Empty {})
    }

    pub(super) async fn join(&self, request: OfConversation) -> ApiResult<Conversation> {
        let by = self.limited_caller()?;
        Ok(self.state.app.groups.join(by, request.conversation_id).await?)
    }

    pub(super) async fn join_by_invite(&self, request: JoinByInvite) -> ApiResult<Conversation> {
        let by = self.limited_caller()?;
        Ok(self.state.app.groups.join_by_invite(by, parse_token(&request.token)?).await?)
    }

    pub(super) async fn leave(&self, request: Leave) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        self.state.app.groups.leave(by, request.conversation_id, request.block).await?;
        Ok(Empty {})
    }

    pub(super) async fn create_invite(&self, request: CreateInvite) -> ApiResult<Invite> {
        let by = self.limited_caller()?;
        let id = needed("conversation_id", request.conversation_id)?;
        Ok(self.state.app.groups.create_invite(by, id, request, new_token()).await?.0)
    }

    pub(super) async fn revoke_invite(&self, request: RevokeInvite) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        self.state.app.groups.revoke_invite(by, request.conversation_id, request.invite_id).await?;
        Ok(Empty {})
    }

    pub(super) async fn update_membership(&self, request: UpdateMembership) -> ApiResult<Membership> {
        let by = self.limited_caller()?;
        let id = needed("conversation_id", request.conversation_id)?;
        Ok(self.state.app.inbox.update_membership(by, id, request).await?)
    }

    pub(super) async fn order_pinned(&self, request: OrderPinned) -> ApiResult<Empty> {
        let by = self.limited_caller()?;
        order_pinned(&self.state, by, &request.conversation_ids).await?;
        Ok(Empty {})
    }
}
