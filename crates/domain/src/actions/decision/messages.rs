//! Messages: sending, editing, deleting, expiring.

use godwit_protocol::conversations::Role;
use godwit_protocol::limits::EDITS_PER_MESSAGE_MAX;
use godwit_protocol::{MessageId, UserId};

use super::case::Case;
use crate::actions::action::NewMessage;
use crate::actions::refusal::Refusal;
use crate::actions::rules::Deed;
use crate::model::{Change, FanOut, Member, Mentions, Message, Target};

impl Case<'_, '_> {
    pub(super) fn send(&self, actor: UserId, new: &NewMessage) -> Result<Vec<Change>, Refusal> {
        let member = self.check(actor, Deed::Send)?;
        if let Some(reply) = new.reply {
            let is_seen = |target: Target| {
                self.fold.message(target.seq).is_some_and(|item| !item.is_gone(self.now))
                    && target.seq >= member.history_from()
            };
            if !is_seen(reply.to) {
                return Err(Refusal::ReplyNotFound);
            }
        }
        let ttl = self.fold.details().message_ttl_secs;
        let sent_at = MessageId::new(self.id).timestamp();
        Ok(vec![Change::Message(Message {
            id: MessageId::new(self.id),
            sender_id: actor,
            client_id: new.client_id.clone(),
            body: new.body.clone(),
            reply: new.reply,
            forwarded_from: new.forwarded_from,
            mentions: self.allowed_mentions(member, &new.mentions),
            expires_at: ttl.map(|secs| sent_at.plus_millis(i64::from(secs) * 1_000)),
        })])
    }

    /// The mentions of members, each once. In a large conversation, not everybody may mention all members.
    fn allowed_mentions(&self, sender: &Member, mentions: &Mentions) -> Mentions {
        let is_large = self.fold.details().fan_out == FanOut::OnRead;
        let mut users = Vec::with_capacity(mentions.users.len());
        for user in &mentions.users {
            if !users.contains(user) && self.fold.member(*user).is_some() {
                users.push(*user);
            }
        }
        Mentions { users, all: mentions.all && (!is_large || sender.role != Role::Member) }
    }

    pub(super) fn edit(
        &self,
        actor: UserId,
        target: Target,
        text: &str,
        mentions: &Mentions,
    ) -> Result<Vec<Change>, Refusal> {
        let (item, message) = self.sent_by(actor, target)?;
        let is_own = message.sender_id == actor;
        let member = self.check(actor, if is_own { Deed::EditOwn } else { Deed::EditOther })?;
        if !is_own && !self.policy.admins_may_edit {
            return Err(Refusal::Forbidden);
        }
        // The text of a forward is not the sender's own.
        if !message.body.is_editable() || message.forwarded_from.is_some() {
            return Err(Refusal::NotEditable);
        }
        let age_ms = self.now.millis_since(message.id.timestamp());
        if self.policy.edit_window_ms.is_some_and(|window| age_ms > window) {
            return Err(Refusal::EditWindowOver);
        }
        if message.current_text(&item.state) == Some(text) {
            return Ok(Vec::new());
        }
        if item.state.edits.len() >= EDITS_PER_MESSAGE_MAX {
            return Err(Refusal::TooManyEdits);
        }
        let mentions = self.allowed_mentions(member, mentions);
        Ok(vec![Change::Edited { by: actor, target, text: Some(text.into()), mentions }])
    }

    pub(super) fn delete(&self, actor: UserId, target: Target) -> Result<Vec<Change>, Refusal> {
        let message = match self.sent_by(actor, target) {
            Ok((_, message)) => message,
            // Deleting a message twice, or after it has expired, succeeds.
            Err(Refusal::MessageGone) => return Ok(Vec::new()),
            Err(refusal) => return Err(refusal),
        };
        let is_own = message.sender_id == actor;
        self.check(actor, if is_own { Deed::DeleteOwn } else { Deed::DeleteOther })?;
        Ok(vec![Change::Deleted { by: actor, target }])
    }

    pub(super) fn expire(&self, targets: &[Target]) -> Vec<Change> {
        let is_due = |target: &&Target| {
            self.fold.message(target.seq).is_some_and(|item| {
                let expires_at = item.entry.message().and_then(|message| message.expires_at);
                item.state.gone.is_none() && expires_at.is_some_and(|at| at <= self.now)
            })
        };
        let targets: Vec<Target> = targets.iter().filter(is_due).copied().collect();
        if targets.is_empty() { Vec::new() } else { vec![Change::Expired { targets }] }
    }
}
