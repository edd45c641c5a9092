//! Details of a conversation: its properties, pins and invite links.

use godwit_protocol::limits::{INVITES_PER_CONVERSATION_MAX, PINS_PER_CONVERSATION_MAX};
use godwit_protocol::{InviteId, MessageId, Timestamp, UserId};

use super::case::Case;
use crate::actions::refusal::Refusal;
use crate::actions::rules::Deed;
use crate::model::{Change, ClientId, DetailsChange, Invite, InviteToken, Target};

impl Case<'_, '_> {
    pub(super) fn update(&self, actor: UserId, change: &DetailsChange) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::Read)?;
        if change.is_about_rules() {
            self.check(actor, Deed::EditRules)?;
        }
        if change.is_about_groups() {
            self.check(actor, Deed::EditDetails)?;
        }
        if change.message_ttl_secs.is_some() {
            self.check(actor, Deed::SetTimer)?;
        }
        let change = change.clone().relative_to(self.fold.details());
        if change.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Change::DetailsChanged { by: actor, change: Box::new(change) }])
    }

    pub(super) fn pin(&self, actor: UserId, target: Target) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::Pin)?;
        self.visible(actor, target)?;
        let pins = &self.fold.details().pins;
        if pins.iter().any(|pin| pin.seq == target.seq) {
            return Ok(Vec::new());
        }
        if pins.len() >= PINS_PER_CONVERSATION_MAX {
            return Err(Refusal::TooManyPins);
        }
        Ok(vec![Change::Pinned { by: actor, target }])
    }

    pub(super) fn unpin(&self, actor: UserId, target: Target) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::Pin)?;
        let is_pinned = self.fold.details().pins.iter().any(|pin| pin.seq == target.seq);
        Ok(if is_pinned { vec![Change::Unpinned { by: actor, target }] } else { Vec::new() })
    }

    pub(super) fn create_invite(
        &self,
        actor: UserId,
        token: &InviteToken,
        client_id: Option<&ClientId>,
        expires_at: Option<Timestamp>,
        uses_max: Option<u32>,
    ) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::CreateInvite)?;
        let made = self.fold.details().invites.iter().filter(|invite| invite.created_by == actor);
        if client_id.is_some() && made.map(|invite| &invite.client_id).any(|made| made.as_ref() == client_id)
        {
            return Ok(Vec::new());
        }
        let usable = self.fold.details().invites.iter().filter(|invite| invite.is_usable(self.now));
        if usable.count() >= INVITES_PER_CONVERSATION_MAX {
            return Err(Refusal::TooManyInvites);
        }
        let invite = Invite {
            id: InviteId::new(self.id),
            token: token.clone(),
            client_id: client_id.cloned(),
            created_by: actor,
            created_at: MessageId::new(self.id).timestamp(),
            expires_at,
            uses_max,
            uses: 0,
        };
        Ok(vec![Change::InviteCreated { invite: Box::new(invite) }])
    }

    pub(super) fn revoke_invite(&self, actor: UserId, id: InviteId) -> Result<Vec<Change>, Refusal> {
        self.check(actor, Deed::OwnInvites)?;
        // Revoking an invite twice succeeds.
        let Some(invite) = self.fold.details().invite(id) else { return Ok(Vec::new()) };
        if invite.created_by != actor {
            self.check(actor, Deed::ManageInvites)?;
        }
        Ok(vec![Change::InviteRevoked { by: actor, invite_id: id }])
    }
}
