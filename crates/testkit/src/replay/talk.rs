//! Operations on conversations.

use godwit_domain::model::{
    AccountChange, ClientId, ConversationState, Cursor, FanOut, Kind, PinChange, SavedDraft, SettingsChange,
};
use godwit_domain::ports::CursorMove;
use godwit_protocol::conversations::HistoryVisibility;
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};

use super::Difference;
use super::ops::{ExpectedHead, Marks, NewSettings, Op};
use super::steps::Step;
use super::world::{World, both, wrapping};
use super::writer::{Stage, Writer};
use crate::due::due_expiries_in;

/// More than a sequence of operations can write.
const LOG_MAX: usize = 1_000;

impl World {
    pub(super) async fn apply_to_conversations(&mut self, op: &Op) -> Result<(), Difference> {
        match op {
            Op::OpenDirect { by, other } => self.open_direct(op, self.user(*by), self.user(*other)).await,
            Op::CreateGroup { .. } => self.create_group(op).await,
            Op::Append { conversation, head, steps } => {
                let Some(state) = self.conversation(*conversation).await? else { return Ok(()) };
                self.append(op, state, *head, steps).await
            }
            Op::MoveCursors { conversation, marks } => {
                let Some(state) = self.conversation(*conversation).await? else { return Ok(()) };
                self.move_cursors(op, &state, marks).await
            }
            Op::ChangeSettings { conversation, member, change } => {
                let Some((id, user)) = self.membership(*conversation, *member).await? else { return Ok(()) };
                let change = self.settings_change(*change);
                let note = self.scene.note(user, AccountChange::SettingsChanged(id));
                both!(self, op, |store| store.change_settings(user, id, change.clone(), note))
            }
            Op::Clear { conversation, member, behind } => {
                let Some((id, user)) = self.membership(*conversation, *member).await? else { return Ok(()) };
                let head = self.scene.load(id).await?.head;
                let cleared = Seq::new(head.seq.get().saturating_sub(u64::from(*behind)));
                // Not the ordinal that a server would send, but the same for both stores.
                let ordinal = head.ordinal.saturating_sub(u64::from(*behind));
                let note = self.scene.note(user, AccountChange::ConversationGone(id, GoneReason::Deleted));
                both!(self, op, |store| store.clear(user, id, cleared, ordinal, note))
            }
            Op::ForgetExpiries => {
                let (model, now) = (self.scene.store(), self.scene.now());
                let due = due_expiries_in(model, now, &self.known.conversations).await?;
                both!(self, op, |store| store.forget_expiries(due.clone()))
            }
            other => unreachable!("{other:?} is not about a conversation"),
        }
    }

    async fn open_direct(&mut self, op: &Op, by: UserId, other: UserId) -> Result<(), Difference> {
        if by == other {
            return Ok(());
        }
        let (pair, new) = self.scene.new_direct(by, other);
        if self.scene.store().direct_of(pair).await?.is_none() {
            self.known.conversations.push(new.conversation.id);
        }
        both!(self, op, |store| store.open_direct(pair, new.clone()))
    }

    async fn create_group(&mut self, op: &Op) -> Result<(), Difference> {
        let Op::CreateGroup { by, others, channel, large, from_joining, key } = op else { return Ok(()) };
        let mut members = vec![self.user(*by)];
        for user in others.iter().map(|number| self.user(*number)) {
            if !members.contains(&user) {
                members.push(user);
            }
        }
        let kind = if *channel { Kind::Channel } else { Kind::Group };
        let new = self.scene.new_group_with(kind, &members, |created| {
            created.fan_out = if *large { FanOut::OnRead } else { FanOut::OnWrite };
            created.history =
                if *from_joining { HistoryVisibility::FromJoining } else { HistoryVisibility::All };
        });
        let key = key.map(|number| ClientId::from_stored(format!("key {number}")));
        both!(self, op, |store| store.create(new.clone(), key.as_ref()))?;
        if self.scene.store().load(new.conversation.id).await?.is_some() {
            self.known.conversations.push(new.conversation.id);
        }
        self.known.messages.push(MessageId::new(new.created.id));
        Ok(())
    }

    async fn append(
        &mut self,
        op: &Op,
        mut state: ConversationState,
        head: ExpectedHead,
        steps: &[Step],
    ) -> Result<(), Difference> {
        let stage = self.stage(op, state.conversation.id).await?;
        let token = stage.token.clone();
        let right = state.head.seq.get();
        state.head.seq = Seq::new(match head {
            ExpectedHead::Right => right,
            ExpectedHead::Behind => right - 1,
            ExpectedHead::Ahead => right + 1,
        });
        let mut writer = Writer::new(self.scene.ids(), &state, stage);
        steps.iter().for_each(|step| writer.take(*step));
        let Some(append) = writer.finish() else { return Ok(()) };
        self.known.messages.extend(append.entries.iter().map(|entry| MessageId::new(entry.id)));
        self.known.tokens.push(token);
        both!(self, op, |store| store.append(&append))
    }

    /// The state on which an append is decided. Both stores are searched for earlier sends.
    async fn stage(&self, op: &Op, id: ConversationId) -> Result<Stage<'_>, Difference> {
        let (model, users) = (self.scene.store(), &self.known.users);
        let log = model.entries(id, Seq::ZERO, LOG_MAX).await?;
        let by_all = |client_id| users.iter().map(move |user| (*user, client_id));
        let mut sent: Vec<(UserId, &ClientId)> = self.known.client_ids.iter().flat_map(by_all).collect();
        both!(self, op, |store| store.sent_as_each(id, &sent))?;
        let mut was_sent = model.sent_as_each(id, &sent).await?.into_iter();
        sent.retain(|_| was_sent.next().flatten().is_some());
        let mut members = Vec::new();
        for &user in users {
            members.push((user, model.member(id, user).await?));
        }
        let places: Vec<(Seq, UserId)> =
            log.iter().flat_map(|item| users.iter().map(|user| (item.entry.seq, *user))).collect();
        let reactions = model.reactions_by(id, &places).await?;
        let reactions = places.into_iter().zip(reactions).filter_map(|(place, it)| Some((place, it?)));
        Ok(Stage {
            users,
            client_ids: &self.known.client_ids,
            reactions: reactions.collect(),
            log,
            members,
            sent,
            now: self.scene.now(),
            token: self.scene.token(),
        })
    }

    async fn move_cursors(
        &self,
        op: &Op,
        state: &ConversationState,
        marks: &[(u8, Marks)],
    ) -> Result<(), Difference> {
        let id = state.conversation.id;
        let members = self.member_ids(id).await?;
        let mut moves: Vec<CursorMove> = Vec::new();
        for (number, marks) in marks {
            let Some(user_id) = wrapping(&members, *number) else { continue };
            if moves.iter().any(|moved| moved.user_id == user_id) {
                continue;
            }
            let place = |mark: u8| Seq::new(u64::from(mark) % (state.head.seq.get() + 1));
            let (delivered, read) = (place(marks.delivered), place(marks.read));
            let items = self.scene.store().items(id, &[read]).await?;
            let read_ordinal = items.into_iter().flatten().next().map_or(0, |item| item.entry.ordinal);
            let cursor = Cursor { delivered, read, read_ordinal };
            moves.push(CursorMove { conversation: id, user_id, cursor, at: self.scene.now() });
        }
        both!(self, op, |store| store.move_cursors(&moves))
    }

    fn settings_change(&self, new: NewSettings) -> SettingsChange {
        let now = self.scene.now();
        let draft = |number: u8| {
            Box::new(SavedDraft { text: format!("draft {number}").into(), reply_to: None, updated_at: now })
        };
        SettingsChange {
            pin: new.pin.map(|pin| match pin {
                None => PinChange::Remove,
                Some(..0) => PinChange::First,
                Some(to @ 0..64) => PinChange::Move(to.into()),
                Some(at) => PinChange::Put(at.into()),
            }),
            archived: new.archived,
            muted_until: new.muted.map(|muted| muted.then_some(now)),
            marked_unread: new.marked_unread,
            draft: new.draft.map(|number| number.map(draft)),
        }
    }

    /// A conversation that is not deleted.
    async fn conversation(&self, number: u8) -> Result<Option<ConversationState>, Difference> {
        let Some(id) = wrapping(&self.known.conversations, number) else { return Ok(None) };
        let state = self.scene.store().load(id).await?;
        Ok(state.filter(|state| state.details.deleted_at.is_none()))
    }

    /// A conversation that is not deleted, and one of its members.
    async fn membership(
        &self,
        conversation: u8,
        member: u8,
    ) -> Result<Option<(ConversationId, UserId)>, Difference> {
        let Some(state) = self.conversation(conversation).await? else { return Ok(None) };
        let members = self.member_ids(state.conversation.id).await?;
        Ok(wrapping(&members, member).map(|user| (state.conversation.id, user)))
    }

    async fn member_ids(&self, id: ConversationId) -> Result<Vec<UserId>, Difference> {
        let members = self.scene.store().members(id, None, self.known.users.len()).await?;
        Ok(members.into_iter().map(|member| member.user_id).collect())
    }
}
