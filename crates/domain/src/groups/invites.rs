//! Invite links.

use std::collections::HashSet;

use godwit_protocol::conversations::Conversation as WireConversation;
use godwit_protocol::groups::{CreateInvite, Invite as WireInvite, InvitePreview};
use godwit_protocol::{ConversationId, InviteId, UserId};

use super::Groups;
use crate::actions::{Action, Deed, Refusal, rules};
use crate::conversations::Live;
use crate::model::{Change, ClientId, Invite, InviteToken};
use crate::ports::StoreError;

impl Groups {
    /// Creates an invite link, or returns the one that was created with the same client id. The flag is true for a new link.
    pub async fn create_invite(
        &self,
        by: UserId,
        id: ConversationId,
        request: CreateInvite,
        token: InviteToken,
    ) -> Result<(WireInvite, bool), Refusal> {
        let CreateInvite { expires_at, uses_max, .. } = request;
        let client_id = request.client_id.as_deref().map(ClientId::parse).transpose()?;
        Invite::check_terms(expires_at, uses_max, self.clock.now())?;
        let action = Action::CreateInvite { token, client_id: client_id.clone(), expires_at, uses_max };
        let done = self.actions.act(by, id, action).await?;
        if let Some(Change::InviteCreated { invite }) = done.entries.first().map(|entry| &entry.change) {
            return Ok((invite.to_wire(id, true), false));
        }
        let (live, _) = self.conversations.of_member(by, id).await?;
        // Another server may have created it.
        self.conversations.reload(&live).await?;
        let is_same = |invite: &&Invite| invite.created_by == by && invite.client_id == client_id;
        let now = self.clock.now();
        let made = live.read(|state| {
            let made = state.details.invites.iter().find(is_same);
            made.map(|invite| invite.to_wire(id, invite.is_usable(now)))
        });
        // It was revoked a moment ago.
        made.map(|made| (made, true)).ok_or(Refusal::NotFound)
    }

    /// The usable invite links: all of them for owners and admins, their own for other members.
    pub async fn invites(&self, by: UserId, id: ConversationId) -> Result<Vec<WireInvite>, Refusal> {
        let (live, member) = self.conversations.of_member(by, id).await?;
        self.check(&live, &member, Deed::OwnInvites)?;
        let sees_all = self.check(&live, &member, Deed::ManageInvites).is_ok();
        let now = self.clock.now();
        let invites: Vec<Invite> = live.read(|state| {
            let invites = state.details.invites.iter().filter(|invite| invite.is_usable(now));
            invites.filter(|invite| sees_all || invite.created_by == by).cloned().collect()
        });
        let inviting = self.inviting(&live, invites.iter().map(|invite| invite.created_by)).await?;
        Ok(invites.iter().map(|invite| invite.to_wire(id, inviting.contains(&invite.created_by))).collect())
    }

    pub async fn revoke_invite(
        &self,
        by: UserId,
        id: ConversationId,
        invite: InviteId,
    ) -> Result<(), Refusal> {
        self.actions.act(by, id, Action::RevokeInvite(invite)).await?;
        Ok(())
    }

    /// The view of the conversation for a user with a link. A member sees it even if the link no longer lets anybody join.
    pub async fn preview(&self, by: UserId, token: &InviteToken) -> Result<InvitePreview, Refusal> {
        let id = self.store.invited_to(token).await?.ok_or(Refusal::InviteInvalid)?;
        let live = self.conversations.get(id).await?.ok_or(Refusal::InviteInvalid)?;
        let member = self.conversations.member(&live, by).await?.is_some();
        let now = self.clock.now();
        let (invite, is_banned) = live.read(|state| {
            let mut invites = state.details.invites.iter();
            let invite = invites.find(|invite| invite.token == *token && invite.is_usable(now));
            (invite.cloned(), state.details.is_banned(by))
        });
        let inviting = self.inviting(&live, invite.iter().map(|invite| invite.created_by)).await?;
        let invite = invite.filter(|invite| !is_banned && inviting.contains(&invite.created_by));
        if invite.is_none() && !member {
            return Err(Refusal::InviteInvalid);
        }
        live.read(|state| {
            let details = &state.details;
            Ok(InvitePreview {
                conversation_id: id,
                kind: state.conversation.wire_kind(),
                name: details.name.to_string(),
                description: details.description.as_deref().map(str::to_owned),
                image: details.image.as_deref().map(str::to_owned),
                member_count: details.member_count,
                member,
                expires_at: invite.as_ref().and_then(|invite| invite.expires_at),
            })
        })
    }

    /// Joins through a link.
    pub async fn join_by_invite(&self, by: UserId, token: InviteToken) -> Result<WireConversation, Refusal> {
        let id = self.store.invited_to(&token).await?.ok_or(Refusal::InviteInvalid)?;
        match self.enter(by, id, Some(token)).await {
            Err(Refusal::NotFound) => Err(Refusal::InviteInvalid),
            entered => entered,
        }
    }

    /// The users whose invite links work: members who may still invite and are not disabled.
    async fn inviting(
        &self,
        live: &Live,
        makers: impl Iterator<Item = UserId>,
    ) -> Result<HashSet<UserId>, StoreError> {
        let makers: HashSet<UserId> = makers.collect();
        let makers: Vec<UserId> = makers.into_iter().collect();
        if makers.is_empty() {
            return Ok(HashSet::new());
        }
        let (kind, permissions) = live.read(|state| (state.conversation.kind, state.details.permissions));
        let mut inviting = HashSet::new();
        for user in self.store.users(&makers).await? {
            let role = self.conversations.member(live, user.id).await?.map(|member| member.role);
            if user.disabled_at.is_none() && rules::may_invite(kind, permissions, role) {
                inviting.insert(user.id);
            }
        }
        Ok(inviting)
    }
}
