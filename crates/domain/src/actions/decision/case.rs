//! One action, and the checks that all actions share.

use godwit_protocol::{Timestamp, UserId};

use super::reactions::Reactions;
use crate::actions::action::Action;
use crate::actions::prepare::Known;
use crate::actions::refusal::Refusal;
use crate::actions::rules::{self, Actor, Deed, MessagePolicy};
use crate::model::{Change, LogItem, Member, Message, Target};
use crate::projection::Fold;

/// The inputs of a decision: the conversation with the results of the previous jobs of the batch.
pub(super) struct Case<'a, 'b> {
    pub(super) fold: &'a Fold<'b>,
    pub(super) known: &'a Known,
    pub(super) policy: &'a MessagePolicy,
    pub(super) now: Timestamp,
    /// The id of the first entry.
    pub(super) id: u64,
}

impl Case<'_, '_> {
    /// The changes that an action makes; empty if nothing changes.
    pub(super) fn decide(&self, actor: UserId, action: &Action) -> Result<Vec<Change>, Refusal> {
        if self.fold.details().deleted_at.is_some() {
            return Err(Refusal::NotFound);
        }
        match action {
            Action::Send(message) => self.send(actor, message),
            Action::Unsendable { refusal, .. } => {
                self.check(actor, Deed::Send)?;
                Err((**refusal).clone())
            }
            Action::Edit { target, text, mentions } => self.edit(actor, *target, text, mentions),
            Action::Delete { target } => self.delete(actor, *target),
            Action::Expire { targets } => Ok(self.expire(targets)),
            Action::React { target, reaction } => {
                let Reactions { changes, outcomes } = self.react(*target, &[(actor, reaction.as_deref())]);
                outcomes.into_iter().collect::<Result<(), Refusal>>()?;
                Ok(changes)
            }
            Action::AddMembers { user_ids } => self.add_members(actor, user_ids),
            Action::Join { invite } => self.join(actor, invite.as_ref()),
            Action::Leave => self.leave(actor),
            Action::RemoveMember(user) => self.remove(actor, *user),
            Action::Ban(user) => self.ban(actor, *user),
            Action::Unban(user) => self.unban(actor, *user),
            Action::SetRole(user, role) => self.set_role(actor, *user, *role),
            Action::TransferOwnership(user) => self.transfer(actor, *user),
            Action::Update(change) => self.update(actor, change),
            Action::Pin(target) => self.pin(actor, *target),
            Action::Unpin(target) => self.unpin(actor, *target),
            Action::CreateInvite { token, client_id, expires_at, uses_max } => {
                self.create_invite(actor, token, client_id.as_ref(), *expires_at, *uses_max)
            }
            Action::RevokeInvite(id) => self.revoke_invite(actor, *id),
            Action::DeleteConversation => {
                self.check(actor, Deed::DeleteConversation)?;
                Ok(vec![Change::ConversationDeleted { by: actor }])
            }
        }
    }

    pub(super) fn check(&self, actor: UserId, deed: Deed) -> Result<&Member, Refusal> {
        if self.known.disabled.contains(&actor) {
            return Err(Refusal::Disabled);
        }
        let member = self.fold.member(actor);
        let actor = Actor { role: member.map(|member| member.role), blocked: self.known.blocked };
        let kind = self.fold.conversation().kind;
        rules::check(kind, self.fold.details().permissions, actor, deed)?;
        member.ok_or(Refusal::NotFound)
    }

    /// A message that a member can see and that is not deleted.
    pub(super) fn visible(&self, user: UserId, target: Target) -> Result<&LogItem, Refusal> {
        let member = self.check(user, Deed::Read)?;
        let item = self.fold.message(target.seq).filter(|_| target.seq >= member.history_from());
        let item = item.filter(|item| item.entry.message().is_some()).ok_or(Refusal::NotFound)?;
        if item.is_gone(self.now) { Err(Refusal::MessageGone) } else { Ok(item) }
    }

    pub(super) fn sent_by(&self, user: UserId, target: Target) -> Result<(&LogItem, &Message), Refusal> {
        let item = self.visible(user, target)?;
        let (message, _) = item.message().ok_or(Refusal::NotFound)?;
        Ok((item, message))
    }
}
