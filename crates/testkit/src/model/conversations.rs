use async_trait::async_trait;
use godwit_domain::model::{
    AccountChange, AccountEntry, AccountNote, ClientId, ConversationState, Cursor, Entry, Head, Kind, Member,
    UserPair,
};
use godwit_domain::ports::{
    Append, AppendOutcome, ConversationStore, CursorMove, MessageOrder, NewDirect, OpenedDirect,
    ReceiptTimes, SeqRange, StoreError,
};
use godwit_protocol::conversations::Role;
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

use super::{Log, ModelStore, State};

#[async_trait]
impl ConversationStore for ModelStore {
    async fn open_direct(&self, pair: UserPair, new: NewDirect) -> Result<OpenedDirect, StoreError> {
        let mut state = self.state();
        if let Some(id) = state.direct_of(pair) {
            return Ok(OpenedDirect { id, made: None });
        }
        let (id, by, at) = (new.conversation.id, new.conversation.created_by, new.conversation.created_at);
        state.logs.insert(id, Log::new(pair, new));
        Ok(OpenedDirect { id, made: Some(state.list(id, &[by], at)) })
    }

    async fn direct_of(&self, pair: UserPair) -> Result<Option<ConversationId>, StoreError> {
        Ok(self.state().direct_of(pair))
    }

    async fn load(&self, id: ConversationId) -> Result<Option<ConversationState>, StoreError> {
        Ok(self.state().logs.get(&id).map(|log| log.state.clone()))
    }

    async fn append(&self, append: Append) -> Result<AppendOutcome, StoreError> {
        let mut state = self.state();
        let Some(log) = state.logs.get_mut(&append.conversation) else { return Ok(AppendOutcome::HeadMoved) };
        if log.state.head.seq != append.expected_head {
            return Ok(AppendOutcome::HeadMoved);
        }
        log.entries.extend(append.entries);
        for moved in append.cursors {
            log.move_cursor(moved);
        }
        let at = MessageId::new(append.head.id).timestamp();
        log.state.head = append.head;
        Ok(AppendOutcome::Appended(state.list(append.conversation, &append.list_for, at)))
    }

    async fn entries(&self, id: ConversationId, after: Seq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        Ok(self.state().entries(id).filter(|entry| entry.seq > after).take(limit).cloned().collect())
    }

    async fn entry(&self, id: ConversationId, seq: Seq) -> Result<Option<Entry>, StoreError> {
        Ok(self.state().entries(id).find(|entry| entry.seq == seq).cloned())
    }

    async fn messages(
        &self,
        id: ConversationId,
        range: SeqRange,
        order: MessageOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let wanted =
            |entry: &&Entry| entry.seq > range.after && entry.seq < range.before && entry.message().is_some();
        let mut messages: Vec<Entry> = self.state().entries(id).filter(wanted).cloned().collect();
        if order == MessageOrder::NewestFirst {
            messages.reverse();
        }
        messages.truncate(limit);
        Ok(messages)
    }

    async fn locate(&self, message: MessageId) -> Result<Option<(ConversationId, Seq)>, StoreError> {
        let state = self.state();
        let all = state.logs.iter().flat_map(|(id, log)| log.entries.iter().map(move |entry| (*id, entry)));
        let mut messages = all.filter_map(|(id, entry)| entry.message().map(|m| (m.id, (id, entry.seq))));
        Ok(messages.find(|(id, _)| *id == message).map(|(_, place)| place))
    }

    async fn sent_as(
        &self,
        id: ConversationId,
        sender: UserId,
        client_id: &ClientId,
    ) -> Result<Option<Seq>, StoreError> {
        let is_it = |entry: &&Entry| {
            entry.message().is_some_and(|m| m.sender_id == sender && m.client_id == *client_id)
        };
        Ok(self.state().entries(id).find(is_it).map(|entry| entry.seq))
    }

    async fn seq_at(&self, id: ConversationId, time: Timestamp) -> Result<Seq, StoreError> {
        let state = self.state();
        let first = state.entries(id).find(|entry| entry.at() >= time).map(|entry| entry.seq);
        Ok(first.unwrap_or_else(|| state.entries(id).last().map_or(Seq::ZERO, |entry| entry.seq).next()))
    }

    async fn move_cursors(&self, moves: &[CursorMove]) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
        let mut state = self.state();
        let mut notes = Vec::new();
        for moved in moves {
            let Some(log) = state.logs.get_mut(&moved.conversation) else { continue };
            if log.move_cursor(*moved) {
                let change = AccountChange::ReadMoved(moved.conversation);
                let entry = state.write_note(AccountNote { user_id: moved.user_id, at: moved.at, change });
                notes.push((moved.user_id, entry));
            }
        }
        Ok(notes)
    }

    async fn receipts(
        &self,
        id: ConversationId,
        seq: Seq,
        users: &[UserId],
    ) -> Result<Vec<ReceiptTimes>, StoreError> {
        let state = self.state();
        let moves = state.logs.get(&id).map(|log| &*log.moves).unwrap_or_default();
        let entry = state.entries(id).find(|entry| entry.seq == seq);
        let sender = entry.and_then(Entry::message).map(|message| message.sender_id);
        let first = |user_id: UserId, mark: fn(&Cursor) -> Seq| {
            if sender == Some(user_id) {
                return entry.map(Entry::at);
            }
            moves.iter().find(|m| m.user_id == user_id && mark(&m.cursor) >= seq).map(|m| m.at)
        };
        let receipt = |&user_id: &UserId| ReceiptTimes {
            user_id,
            delivered_at: first(user_id, |cursor| cursor.delivered),
            read_at: first(user_id, |cursor| cursor.read),
        };
        Ok(users.iter().map(receipt).collect())
    }
}

impl State {
    fn direct_of(&self, pair: UserPair) -> Option<ConversationId> {
        self.logs.iter().find(|(_, log)| log.state.conversation.kind == Kind::Direct(pair)).map(|(id, _)| *id)
    }

    fn entries(&self, id: ConversationId) -> impl Iterator<Item = &Entry> {
        self.logs.get(&id).into_iter().flat_map(|log| &log.entries)
    }

    /// Puts a conversation into inboxes where it is not yet.
    fn list(&mut self, id: ConversationId, users: &[UserId], at: Timestamp) -> Vec<(UserId, AccountEntry)> {
        let change = AccountChange::ConversationListed(id);
        let mut notes = Vec::new();
        for &user_id in users {
            if self.listed.insert((user_id, id)) {
                notes.push((user_id, self.write_note(AccountNote { user_id, at, change })));
            }
        }
        notes
    }
}

impl Log {
    fn new(pair: UserPair, new: NewDirect) -> Self {
        let joined_at = new.conversation.created_at;
        let member = |user_id| Member { user_id, role: Role::Member, joined_at, cursor: Cursor::default() };
        let state = ConversationState {
            conversation: new.conversation,
            head: Head::empty().after(&new.created),
            members: vec![member(pair.low()), member(pair.high())],
        };
        Self { state, entries: vec![new.created], moves: Vec::new() }
    }

    /// Whether the read mark moved.
    fn move_cursor(&mut self, moved: CursorMove) -> bool {
        let Some(member) = self.state.member_mut(moved.user_id) else { return false };
        let (before, after) = (member.cursor, member.cursor.advanced_by(moved.cursor));
        member.cursor = after;
        if after != before {
            self.moves.push(CursorMove { cursor: after, ..moved });
        }
        after.read > before.read
    }
}
