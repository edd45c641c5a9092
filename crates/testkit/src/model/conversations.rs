use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use godwit_domain::model::{
    AccountEntry, ClientId, Concealed, ConversationState, Cursor, Entry, FanOut, Head, InviteToken, Kind,
    LogItem, Member, UserPair,
};
use godwit_domain::ports::{
    Append, AppendOutcome, ConversationStore, CursorMove, DueExpiry, HistoryEnd, Made, NewConversation,
    ReceiptTimes, SeqRange, StoreError, StoredReaction,
};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

use super::{Log, ModelStore, Moment, Read, State};

#[async_trait]
impl ConversationStore for ModelStore {
    async fn open_direct(&self, pair: UserPair, new: NewConversation) -> Result<Made, StoreError> {
        self.meanwhile.happen(Moment::BeforeOwnWrite).await;
        let mut state = self.state();
        Ok(match state.direct_of(pair) {
            Some(id) => Made { id, made: None },
            None => state.make(new),
        })
    }

    async fn direct_of(&self, pair: UserPair) -> Result<Option<ConversationId>, StoreError> {
        Ok(self.state().direct_of(pair))
    }

    async fn create(&self, new: NewConversation, key: Option<&ClientId>) -> Result<Made, StoreError> {
        self.meanwhile.happen(Moment::BeforeOwnWrite).await;
        let made = self.state().create(new, key);
        self.meanwhile.happen(Moment::AfterCreate).await;
        Ok(made)
    }

    async fn made_with(&self, by: UserId, key: &ClientId) -> Result<Option<ConversationId>, StoreError> {
        Ok(self.state().made_with.get(&(by, key.clone())).copied())
    }

    async fn load(&self, id: ConversationId) -> Result<Option<ConversationState>, StoreError> {
        let loaded = {
            let state = self.state();
            state.logs.get(&id).map(Log::state).map(|mut loaded| {
                for member in &mut loaded.members {
                    member.concealed = state.concealed_of(member.user_id, id);
                }
                loaded
            })
        };
        self.meanwhile.happen(Moment::AfterLoad).await;
        Ok(loaded)
    }

    async fn member(&self, id: ConversationId, user: UserId) -> Result<Option<Member>, StoreError> {
        self.failures.strike(Read::Member)?;
        let member = self.state().member(id, user);
        self.meanwhile.happen(Moment::AfterMember).await;
        Ok(member)
    }

    async fn members(
        &self,
        id: ConversationId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<Member>, StoreError> {
        let state = self.state();
        let members = state.logs.get(&id).into_iter().flat_map(|log| log.members.values());
        let members = members.filter(|member| after.is_none_or(|after| member.user_id > after));
        let complete =
            |member: &Member| Member { concealed: state.concealed_of(member.user_id, id), ..member.clone() };
        Ok(members.take(limit).map(complete).collect())
    }

    async fn concealed(&self, id: ConversationId, users: &[UserId]) -> Result<Vec<Concealed>, StoreError> {
        let state = self.state();
        Ok(users.iter().map(|user| state.concealed_of(*user, id)).collect())
    }

    async fn append(&self, append: &Append) -> Result<AppendOutcome, StoreError> {
        let is_full = self.is_full.load(Ordering::Relaxed);
        if is_full && !append.entries.iter().all(|entry| entry.change.takes_away()) {
            return Err(StoreError::Full);
        }
        let outcome = self.losses.strike(|| self.state().append(append));
        self.meanwhile.happen(Moment::AfterAppend).await;
        outcome
    }

    async fn entries(
        &self,
        id: ConversationId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<LogItem>, StoreError> {
        let state = self.state();
        let wanted = state.log_of(id).filter(|entry| entry.seq > after).take(limit);
        Ok(wanted.map(|entry| state.item(id, entry)).collect())
    }

    async fn items(&self, id: ConversationId, seqs: &[Seq]) -> Result<Vec<Option<LogItem>>, StoreError> {
        let state = self.state();
        let item = |seq: &Seq| Some(state.item(id, state.log_of(id).find(|entry| entry.seq == *seq)?));
        Ok(seqs.iter().map(item).collect())
    }

    async fn history(
        &self,
        id: ConversationId,
        range: SeqRange,
        end: HistoryEnd,
        limit: usize,
    ) -> Result<Vec<LogItem>, StoreError> {
        self.history_reads.fetch_add(1, Ordering::Relaxed);
        let state = self.state();
        let is_wanted = |entry: &&Entry| entry.seq > range.after && entry.seq < range.before && entry.shown;
        let shown: Vec<&Entry> = state.log_of(id).filter(is_wanted).collect();
        let skipped = match end {
            HistoryEnd::Oldest => 0,
            HistoryEnd::Newest => shown.len().saturating_sub(limit),
        };
        Ok(shown.into_iter().skip(skipped).take(limit).map(|entry| state.item(id, entry)).collect())
    }

    async fn locate(&self, message: MessageId) -> Result<Option<(ConversationId, Seq)>, StoreError> {
        let state = self.state();
        let all = state.logs.iter().flat_map(|(id, log)| log.entries.iter().map(move |entry| (*id, entry)));
        let mut found = all.filter(|(_, entry)| entry.shown && entry.id == message.get());
        Ok(found.next().map(|(id, entry)| (id, entry.seq)))
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
        Ok(self.state().log_of(id).find(is_it).map(|entry| entry.seq))
    }

    async fn seq_at(&self, id: ConversationId, time: Timestamp) -> Result<Seq, StoreError> {
        let state = self.state();
        let first = state.log_of(id).find(|entry| entry.at() >= time).map(|entry| entry.seq);
        Ok(first.unwrap_or_else(|| state.log_of(id).last().map_or(Seq::ZERO, |entry| entry.seq).next()))
    }

    async fn move_cursors(&self, moves: &[CursorMove]) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
        let mut state = self.state();
        let mut notes = Vec::new();
        for moved in moves {
            let Some(log) = state.logs.get_mut(&moved.conversation) else { continue };
            let Some((before, after)) = log.move_cursor(*moved) else { continue };
            log.touch(moved.at);
            notes.extend(moved.note(before, after).map(|note| (moved.user_id, state.write_note(note))));
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
        let entry = state.log_of(id).find(|entry| entry.seq == seq);
        let first = |user_id: UserId, mark: fn(&Cursor) -> Seq| {
            moves.iter().find(|m| m.user_id == user_id && mark(&m.cursor) >= seq).map(|m| m.at)
        };
        let receipt = |&user_id: &UserId| {
            ReceiptTimes::of_sender(user_id, entry).unwrap_or_else(|| ReceiptTimes {
                user_id,
                delivered_at: first(user_id, |cursor| cursor.delivered),
                read_at: first(user_id, |cursor| cursor.read),
            })
        };
        Ok(users.iter().map(receipt).collect())
    }

    async fn reactions(
        &self,
        id: ConversationId,
        seq: Seq,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<StoredReaction>, StoreError> {
        let state = self.state();
        let all = state.logs.get(&id).into_iter().flat_map(|log| &log.reactions);
        let of_message = all.filter(|((place, user), _)| *place == seq && after.is_none_or(|a| *user > a));
        Ok(of_message.map(|(_, reaction)| reaction.clone()).take(limit).collect())
    }

    async fn reactions_by(
        &self,
        id: ConversationId,
        asked: &[(Seq, UserId)],
    ) -> Result<Vec<Option<Box<str>>>, StoreError> {
        let state = self.state();
        let log = state.logs.get(&id);
        let reaction = |key| log.and_then(|log| log.reactions.get(key)).map(|found| found.reaction.clone());
        Ok(asked.iter().map(reaction).collect())
    }

    async fn replies(
        &self,
        id: ConversationId,
        root: Seq,
        after: u32,
        limit: usize,
    ) -> Result<Vec<Seq>, StoreError> {
        let state = self.state();
        let all = state.logs.get(&id).into_iter().flat_map(|log| &log.replies);
        let of_thread = all.filter(|((place, number), _)| *place == root && *number > after);
        Ok(of_thread.map(|(_, seq)| *seq).take(limit).collect())
    }

    async fn invited_to(&self, token: &InviteToken) -> Result<Option<ConversationId>, StoreError> {
        Ok(self.state().invites.get(token).copied())
    }

    async fn due_expiries(&self, now: Timestamp, limit: usize) -> Result<Vec<DueExpiry>, StoreError> {
        let state = self.state();
        let due = state.expiries.iter().filter(|(at, ..)| *at <= now);
        let due = due.map(|&(at, conversation, seq)| DueExpiry { at, conversation, seq });
        Ok(due.take(limit).collect())
    }

    async fn forget_expiries(&self, done: Vec<DueExpiry>) -> Result<(), StoreError> {
        let mut state = self.state();
        for expiry in done {
            state.expiries.remove(&(expiry.at, expiry.conversation, expiry.seq));
        }
        Ok(())
    }
}

impl State {
    fn direct_of(&self, pair: UserPair) -> Option<ConversationId> {
        self.logs.iter().find(|(_, log)| log.conversation.kind == Kind::Direct(pair)).map(|(id, _)| *id)
    }

    fn create(&mut self, new: NewConversation, key: Option<&ClientId>) -> Made {
        let key = key.map(|key| (new.conversation.created_by, key.clone()));
        if let Some(id) = key.as_ref().and_then(|key| self.made_with.get(key)) {
            return Made { id: *id, made: None };
        }
        let id = new.conversation.id;
        if self.logs.contains_key(&id) {
            return Made { id, made: None };
        }
        self.made_with.extend(key.map(|key| (key, id)));
        self.make(new)
    }

    fn member(&self, id: ConversationId, user: UserId) -> Option<Member> {
        let member = self.logs.get(&id)?.members.get(&user)?.clone();
        Some(Member { concealed: self.concealed_of(user, id), ..member })
    }

    fn make(&mut self, new: NewConversation) -> Made {
        let id = new.conversation.id;
        let details = new.effects.details.clone().expect("a new conversation has details");
        let log = Log {
            conversation: new.conversation,
            details,
            head: Head::empty(),
            members: BTreeMap::new(),
            entries: vec![new.created],
            messages: BTreeMap::new(),
            reactions: BTreeMap::new(),
            replies: BTreeMap::new(),
            moves: Vec::new(),
            changed_at: Timestamp::default(),
        };
        self.logs.insert(id, log);
        Made { id, made: Some(self.apply(id, &new.effects)) }
    }

    fn append(&mut self, append: &Append) -> AppendOutcome {
        let Some(log) = self.logs.get_mut(&append.conversation) else { return AppendOutcome::HeadMoved };
        if log.head.seq != append.expected_head {
            return AppendOutcome::HeadMoved;
        }
        log.entries.extend(append.entries.iter().cloned());
        AppendOutcome::Appended(self.apply(append.conversation, &append.effects))
    }

    fn log_of(&self, id: ConversationId) -> impl Iterator<Item = &Entry> {
        self.logs.get(&id).into_iter().flat_map(|log| &log.entries)
    }

    fn item(&self, id: ConversationId, entry: &Entry) -> LogItem {
        let state = self.logs.get(&id).and_then(|log| log.messages.get(&entry.seq));
        LogItem { entry: entry.clone(), state: state.cloned().unwrap_or_default().into() }
    }
}

impl Log {
    fn state(&self) -> ConversationState {
        let members = match self.details.fan_out {
            FanOut::OnWrite => self.members.values().cloned().collect(),
            FanOut::OnRead => Vec::new(),
        };
        ConversationState {
            conversation: self.conversation.clone(),
            details: self.details.clone(),
            head: self.head.clone(),
            members,
        }
    }

    /// When an entry was last shown or, if none was, the conversation was created.
    pub(super) fn activity_at(&self) -> Timestamp {
        self.head.activity_at().unwrap_or(self.conversation.created_at)
    }
}
