//! What happens in conversations.

use godwit_domain::model::{AccountChange, ClientId, ConversationState, Cursor, Entry, SettingsChange};
use godwit_domain::ports::{Append, CursorMove};
use godwit_protocol::{Seq, UserId};

use super::Difference;
use super::ops::{ExpectedHead, Marks, NewEntry, Op};
use super::world::{World, both, wrapping};
use crate::batch::Batch;

impl World {
    pub(super) async fn open_direct(&mut self, op: &Op, by: UserId, other: UserId) -> Result<(), Difference> {
        if by == other {
            return Ok(());
        }
        let (pair, new) = self.scene.new_direct(by, other);
        if self.scene.store().direct_of(pair).await?.is_none() {
            self.known.conversations.push(new.conversation.id);
        }
        both!(self, op, |store| store.open_direct(pair, new.clone()))
    }

    pub(super) async fn apply_to_conversation(&mut self, op: &Op) -> Result<(), Difference> {
        match op {
            Op::Append { conversation, head, entries, listed } => {
                let Some(state) = self.conversation(*conversation).await? else { return Ok(()) };
                self.append(op, state, *head, entries, *listed).await
            }
            Op::MoveCursors { conversation, lower, higher } => {
                let Some(state) = self.conversation(*conversation).await? else { return Ok(()) };
                let mut moves = Vec::new();
                for (member, marks) in state.members.iter().zip([lower, higher]) {
                    if let Some(marks) = marks {
                        moves.push(self.cursor_move(&state, member.user_id, *marks).await?);
                    }
                }
                both!(self, op, |store| store.move_cursors(&moves))
            }
            Op::ChangeSettings { conversation, by_higher, pinned, archived, muted } => {
                let Some(state) = self.conversation(*conversation).await? else { return Ok(()) };
                let (id, user) = (state.conversation.id, member(&state, *by_higher));
                let muted_until = muted.map(|muted| muted.then(|| self.scene.now()));
                let change = SettingsChange { pinned: *pinned, archived: *archived, muted_until };
                let note = self.scene.note(user, AccountChange::SettingsChanged(id));
                both!(self, op, |store| store.change_settings(user, id, change, note))
            }
            other => unreachable!("{other:?} is not about a conversation"),
        }
    }

    async fn append(
        &mut self,
        op: &Op,
        mut state: ConversationState,
        head: ExpectedHead,
        entries: &[NewEntry],
        listed: bool,
    ) -> Result<(), Difference> {
        let right = state.head.seq.get();
        state.head.seq = Seq::new(match head {
            ExpectedHead::Right => right,
            ExpectedHead::Behind => right - 1,
            ExpectedHead::Ahead => right + 1,
        });
        let Some(append) = self.new_append(op, &state, entries, listed).await? else { return Ok(()) };
        let sent = append.entries.iter().filter_map(Entry::message);
        self.known.messages.extend(sent.map(|message| message.id));
        both!(self, op, |store| store.append(append.clone()))
    }

    /// Entries as sending makes them: what was sent before is found, and not sent again.
    async fn new_append(
        &self,
        op: &Op,
        state: &ConversationState,
        entries: &[NewEntry],
        listed: bool,
    ) -> Result<Option<Append>, Difference> {
        let id = state.conversation.id;
        let mut batch = Batch::after(self.scene.ids(), state);
        let mut in_batch: Vec<(UserId, &ClientId)> = Vec::new();
        let mut is_empty = true;
        for entry in entries {
            match entry {
                NewEntry::Filler => batch = batch.filler(),
                NewEntry::Message { by_higher, client_id } => {
                    let sender = member(state, *by_higher);
                    let client_id = &self.known.client_ids[usize::from(*client_id)];
                    both!(self, op, |store| store.sent_as(id, sender, client_id))?;
                    let was_sent = self.scene.store().sent_as(id, sender, client_id).await?.is_some();
                    if was_sent || in_batch.contains(&(sender, client_id)) {
                        continue;
                    }
                    in_batch.push((sender, client_id));
                    batch = batch.text(sender, client_id.as_str());
                }
            }
            is_empty = false;
        }
        let batch = if listed { batch } else { batch.listing_for(&[]) };
        Ok((!is_empty).then(|| batch.build()))
    }

    async fn cursor_move(
        &self,
        state: &ConversationState,
        user_id: UserId,
        marks: Marks,
    ) -> Result<CursorMove, Difference> {
        let place = |mark: u8| Seq::new(u64::from(mark) % (state.head.seq.get() + 1));
        let (delivered, read) = (place(marks.delivered), place(marks.read));
        let entry = self.scene.store().entry(state.conversation.id, read).await?;
        let read_ordinal = entry.map_or(0, |entry| entry.ordinal);
        let cursor = Cursor { delivered, read, read_ordinal };
        Ok(CursorMove { conversation: state.conversation.id, user_id, cursor, at: self.scene.now() })
    }

    async fn conversation(&self, number: u8) -> Result<Option<ConversationState>, Difference> {
        match wrapping(&self.known.conversations, number) {
            None => Ok(None),
            Some(id) => Ok(self.scene.store().load(id).await?),
        }
    }
}

fn member(state: &ConversationState, higher: bool) -> UserId {
    state.members[usize::from(higher)].user_id
}
