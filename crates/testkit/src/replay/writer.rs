//! Builds an append from steps.

use std::collections::HashMap;

use godwit_domain::model::{
    ClientId, ConversationState, DetailsChange, FanOut, InviteToken, LogItem, Member, Mentions, MessageBody,
};
use godwit_domain::ports::Append;
use godwit_domain::snowflake::IdGenerator;
use godwit_protocol::conversations::{EditsVisibleTo, HistoryVisibility, Role};
use godwit_protocol::{InviteId, Seq, Timestamp, UserId};

use super::steps::{Say, Step};
use super::world::wrapping;
use crate::batch::Batch;

/// The state before an append.
pub(super) struct Stage<'a> {
    pub(super) users: &'a [UserId],
    pub(super) client_ids: &'a [ClientId],
    pub(super) log: Vec<LogItem>,
    /// Of all users, members or not.
    pub(super) members: Vec<(UserId, Option<Member>)>,
    pub(super) sent: Vec<(UserId, &'a ClientId)>,
    pub(super) reactions: HashMap<(Seq, UserId), Box<str>>,
    pub(super) now: Timestamp,
    /// For one invite; unique per append.
    pub(super) token: InviteToken,
}

pub(super) struct Writer<'a> {
    stage: Stage<'a>,
    batch: Batch<'a>,
    /// Messages that can be changed, in the order of the log.
    messages: Vec<Seq>,
    is_direct: bool,
    /// The fan-out before the append.
    fan_out: FanOut,
    /// No entry can follow.
    is_over: bool,
    is_empty: bool,
    has_invited: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(ids: &'a IdGenerator, state: &ConversationState, stage: Stage<'a>) -> Self {
        let messages = stage.log.iter().filter(|item| item.entry.message().is_some());
        let mut batch = Batch::after(ids, state).knowing(messages.clone().cloned());
        if !state.is_whole() {
            for (user, member) in &stage.members {
                batch = batch.knowing_member(*user, member.clone());
            }
        }
        Self {
            messages: messages.map(|item| item.entry.seq).collect(),
            is_direct: state.conversation.kind.is_direct(),
            fan_out: state.details.fan_out,
            is_over: state.details.deleted_at.is_some(),
            is_empty: true,
            has_invited: false,
            batch,
            stage,
        }
    }

    /// Adds the step, if it is possible now.
    pub(super) fn take(&mut self, step: Step) {
        if self.is_over {
            return;
        }
        let batch = match step {
            Step::Say { by, client_id, how } => self.say(by, client_id, how),
            Step::Edit { .. }
            | Step::Delete { .. }
            | Step::Expire { .. }
            | Step::React { .. }
            | Step::TakeBack { .. }
            | Step::Pin { .. }
            | Step::Unpin { .. } => self.on_a_message(step),
            Step::Change { by, what } => {
                self.member(by).map(|by| self.batch().details(by, self.change(what)))
            }
            Step::Filler => Some(self.batch().filler()),
            _ if self.is_direct => None,
            Step::Invite { .. } if self.has_invited => None,
            Step::Invite { by } => {
                let batch = self.member(by).map(|by| self.batch().invite(by, &self.stage.token));
                self.has_invited = batch.is_some();
                batch
            }
            Step::Revoke { by, invite } => {
                self.invite(invite).zip(self.member(by)).map(|(invite, by)| self.batch().revoke(by, invite))
            }
            // After both changes the contract does not say where the rows of the deleted conversation are.
            Step::DeleteConversation { .. } if self.has_crossed() => None,
            Step::DeleteConversation { by } => {
                let batch = self.member(by).map(|by| self.batch().delete_conversation(by));
                self.is_over = batch.is_some();
                batch
            }
            _ => self.on_members(step),
        };
        if let Some(batch) = batch {
            self.batch = batch;
            self.is_empty = false;
        }
    }

    pub(super) fn finish(self) -> Option<Append> {
        (!self.is_empty).then(|| self.batch.build())
    }

    fn say(&mut self, by: u8, client_id: u8, how: Say) -> Option<Batch<'a>> {
        let by = self.member(by)?;
        let id = &self.stage.client_ids[usize::from(client_id)];
        if self.stage.sent.contains(&(by, id)) {
            return None;
        }
        let text = id.as_str();
        let batch = match how {
            Say::Plainly => self.batch().text(by, text),
            Say::Calling { user, all } => self.batch().calling(by, text, self.mentions(Some(user), all)),
            Say::ForAWhile { ms } => {
                self.batch().expiring(by, text, self.stage.now.plus_millis(i64::from(ms)))
            }
            Say::Replying { message } => self.batch().reply(by, text, self.message(message)?),
        };
        self.stage.sent.push((by, id));
        self.messages.push(self.batch.so_far().head().seq.next());
        Some(batch)
    }

    fn on_a_message(&mut self, step: Step) -> Option<Batch<'a>> {
        match step {
            Step::Edit { message, calls } => {
                let seq = self.message(message)?;
                let sender = self.batch.so_far().message(seq)?.entry.message()?.sender_id;
                let text = format!("edit of {seq} after {}", self.batch.so_far().head().seq);
                Some(self.batch().edit_calling(sender, seq, &text, self.mentions(calls, false)))
            }
            Step::Delete { by, message } => {
                Some(self.batch().delete(self.member(by)?, self.message(message)?))
            }
            Step::Expire { message } => Some(self.batch().expired(&[self.message(message)?])),
            Step::React { by, message, reaction } => {
                let (by, seq) = (self.member(by)?, self.message(message)?);
                let after: Box<str> = format!("r{reaction}").into();
                let before = self.stage.reactions.insert((seq, by), after.clone());
                let is_new = before.as_ref() != Some(&after);
                is_new.then(|| self.batch().react(by, seq, before.as_deref(), Some(&after)))
            }
            Step::TakeBack { reaction } => {
                let (seq, by) = self.reaction(reaction)?;
                let before = self.stage.reactions.remove(&(seq, by));
                Some(self.batch().react(by, seq, before.as_deref(), None))
            }
            Step::Pin { by, message } => Some(self.batch().pin(self.member(by)?, self.message(message)?)),
            Step::Unpin { by, message } => Some(self.batch().unpin(self.member(by)?, self.message(message)?)),
            other => unreachable!("{other:?} is not about a message"),
        }
    }

    fn on_members(&self, step: Step) -> Option<Batch<'a>> {
        let is_small = self.batch.so_far().details().fan_out == FanOut::OnWrite;
        match step {
            Step::Add { by, user, crosses } => {
                let (by, new) = (self.member(by)?, [self.stranger(user)?]);
                Some(match crosses && is_small {
                    true => self.batch().add_crossing(by, &new),
                    false => self.batch().add(by, &new),
                })
            }
            Step::Join { user, invite, crosses } => {
                let (user, invite) = (self.stranger(user)?, invite.and_then(|number| self.invite(number)));
                Some(match crosses && is_small {
                    true => self.batch().join_crossing(user, invite),
                    false => self.batch().join(user, invite),
                })
            }
            Step::Leave { user } => Some(self.batch().leave(self.member(user)?)),
            Step::Remove { by, user } => Some(self.batch().remove(self.member(by)?, self.member(user)?)),
            Step::Ban { by, user } => {
                let (by, user) = (self.member(by)?, *self.stage.users.get(usize::from(user))?);
                let is_banned = self.batch.so_far().details().is_banned(user);
                (by != user && !is_banned).then(|| self.batch().ban(by, user))
            }
            Step::Unban { by } => {
                let banned = self.batch.so_far().details().bans.first()?.user_id;
                Some(self.batch().unban(self.member(by)?, banned))
            }
            Step::SetRole { by, user, role } => {
                let role = [Role::Owner, Role::Admin, Role::Member][usize::from(role)];
                Some(self.batch().role(self.member(by)?, self.member(user)?, role))
            }
            Step::Transfer { by, user } => {
                let (by, user) = (self.member(by)?, self.member(user)?);
                (by != user).then(|| self.batch().transfer(by, user))
            }
            other => unreachable!("{other:?} is not about members"),
        }
    }

    fn batch(&self) -> Batch<'a> {
        self.batch.clone()
    }

    fn has_crossed(&self) -> bool {
        self.batch.so_far().details().fan_out != self.fan_out
    }

    /// One of the current members.
    fn member(&self, number: u8) -> Option<UserId> {
        let fold = self.batch.so_far();
        let users = self.stage.users.iter().copied();
        wrapping(&users.filter(|user| fold.member(*user).is_some()).collect::<Vec<_>>(), number)
    }

    /// One of the users who are not members.
    fn stranger(&self, number: u8) -> Option<UserId> {
        let fold = self.batch.so_far();
        let users = self.stage.users.iter().copied();
        wrapping(&users.filter(|user| fold.member(*user).is_none()).collect::<Vec<_>>(), number)
    }

    /// A message that is not deleted.
    fn message(&self, number: u8) -> Option<Seq> {
        wrapping(&self.messages, number).filter(|seq| self.is_there(*seq))
    }

    fn is_there(&self, seq: Seq) -> bool {
        let fold = self.batch.so_far();
        let message = fold.message(seq).and_then(LogItem::message);
        message.is_some_and(|(message, state)| {
            state.gone.is_none() && !matches!(message.body, MessageBody::Erased(_))
        })
    }

    /// A reaction that its user can still remove.
    fn reaction(&self, number: u8) -> Option<(Seq, UserId)> {
        let fold = self.batch.so_far();
        let reactions = self.stage.reactions.keys().copied();
        let mut here: Vec<_> =
            reactions.filter(|(seq, by)| fold.member(*by).is_some() && self.is_there(*seq)).collect();
        here.sort_unstable();
        wrapping(&here, number)
    }

    fn invite(&self, number: u8) -> Option<InviteId> {
        let fold = self.batch.so_far();
        let ids: Vec<InviteId> = fold.details().invites.iter().map(|invite| invite.id).collect();
        wrapping(&ids, number)
    }

    fn mentions(&self, user: Option<u8>, all: bool) -> Mentions {
        Mentions { users: user.and_then(|user| self.member(user)).into_iter().collect(), all }
    }

    fn change(&self, what: u8) -> DetailsChange {
        let text: Box<str> = format!("details after {}", self.batch.so_far().head().seq).into();
        let mut change = DetailsChange::default();
        match what % 7 {
            0 => change.name = Some(text),
            1 => change.description = Some((what.is_multiple_of(2)).then_some(text)),
            2 => change.image = Some((what.is_multiple_of(2)).then_some(text)),
            3 => change.history = Some(HistoryVisibility::FromJoining),
            4 => change.history = Some(HistoryVisibility::All),
            5 => change.edits_visible_to = Some(EditsVisibleTo::Admins),
            _ => change.message_ttl_secs = Some((what.is_multiple_of(2)).then_some(u32::from(what) + 5)),
        }
        change
    }
}
