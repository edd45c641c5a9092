//! What an action is decided on, and the checks that all actions share.

use godwit_protocol::{Timestamp, UserId};

use crate::actions::prepare::Known;
use crate::actions::refusal::Refusal;
use crate::actions::rules::{self, Actor, Deed, MessagePolicy};
use crate::model::{LogItem, Member, Message, Target};
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
    /// Nothing can be done in a deleted conversation.
    pub(super) fn is_deleted(&self) -> bool {
        self.fold.details().deleted_at.is_some()
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
