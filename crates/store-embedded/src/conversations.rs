//! Conversations: making, loading and appending. Reading the log is in `history.rs`, cursors are in `cursors.rs`.

use async_trait::async_trait;
use godwit_domain::model::{
    AccountEntry, Change, ClientId, ConversationState, Cursor, Entry, Head, UserPair,
};
use godwit_domain::ports::{
    Append, AppendOutcome, ConversationStore, CursorMove, MessageOrder, NewDirect, OpenedDirect,
    ReceiptTimes, SeqRange, StoreError,
};
use godwit_protocol::conversations::Role;
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

use crate::engine::Bytes;
use crate::keys::{self, ConversationPart, Key};
use crate::read::Read;
use crate::records::{
    ChangeRecord, ConversationRecord, CursorRecord, HeadRecord, LocationRecord, MemberRecord, MessageRecord,
    PairRecord, Record, SentRecord,
};
use crate::txn::Txn;
use crate::{EmbeddedStore, cursors, history, order};

#[async_trait]
impl ConversationStore for EmbeddedStore {
    async fn open_direct(&self, pair: UserPair, new: NewDirect) -> Result<OpenedDirect, StoreError> {
        if let Some(id) = direct_of(&self.engine.view(), pair)? {
            return Ok(OpenedDirect { id, made: None });
        }
        self.write("open a conversation", move |txn| open_direct(txn, pair, new)).await
    }

    async fn direct_of(&self, pair: UserPair) -> Result<Option<ConversationId>, StoreError> {
        direct_of(&self.engine.view(), pair)
    }

    async fn load(&self, id: ConversationId) -> Result<Option<ConversationState>, StoreError> {
        load(&self.engine.view(), id)
    }

    async fn append(&self, append: Append) -> Result<AppendOutcome, StoreError> {
        let append = PreparedAppend::new(append);
        self.write("append to a conversation", move |txn| append.run(txn)).await
    }

    async fn entries(&self, id: ConversationId, after: Seq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        history::entries(&self.engine.view(), id, after, limit)
    }

    async fn entry(&self, id: ConversationId, seq: Seq) -> Result<Option<Entry>, StoreError> {
        history::entry(&self.engine.view(), id, seq)
    }

    async fn messages(
        &self,
        id: ConversationId,
        range: SeqRange,
        order: MessageOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        history::messages(&self.engine.view(), id, range, order, limit)
    }

    async fn locate(&self, message: MessageId) -> Result<Option<(ConversationId, Seq)>, StoreError> {
        history::locate(&self.engine.view(), message)
    }

    async fn sent_as(
        &self,
        id: ConversationId,
        sender: UserId,
        client_id: &ClientId,
    ) -> Result<Option<Seq>, StoreError> {
        history::sent_as(&self.engine.view(), id, sender, client_id)
    }

    async fn seq_at(&self, id: ConversationId, time: Timestamp) -> Result<Seq, StoreError> {
        history::seq_at(&self.engine.view(), id, time)
    }

    async fn move_cursors(&self, moves: &[CursorMove]) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
        let moves = moves.to_vec();
        self.write("move cursors", move |txn| cursors::advance(txn, &moves)).await
    }

    async fn receipts(
        &self,
        id: ConversationId,
        seq: Seq,
        users: &[UserId],
    ) -> Result<Vec<ReceiptTimes>, StoreError> {
        cursors::receipts(&self.engine.view(), id, seq, users)
    }
}

fn direct_of(store: &impl Read, pair: UserPair) -> Result<Option<ConversationId>, StoreError> {
    let record: Option<PairRecord> = store.record(&keys::pair(pair))?;
    Ok(record.map(|PairRecord(id)| id))
}

/// All rows of a conversation but its log are one range, so this is one scan.
fn load(store: &impl Read, id: ConversationId) -> Result<Option<ConversationState>, StoreError> {
    let (mut conversation, mut head, mut members) = (None, None, Vec::new());
    for (key, value) in store.all(&keys::conversation_parts(id))? {
        match keys::decode_part(&key)? {
            ConversationPart::Conversation => {
                conversation = Some(ConversationRecord::decode(&key, &value)?.into_conversation(id)?);
            }
            ConversationPart::Head => head = Some(HeadRecord::decode(&key, &value)?.into_head()),
            ConversationPart::Member(user) => {
                members.push(MemberRecord::decode(&key, &value)?.into_member(user, Cursor::default()));
            }
            ConversationPart::Cursor(user) => {
                if let Ok(member) = members.binary_search_by_key(&user, |member| member.user_id) {
                    members[member].cursor = CursorRecord::decode(&key, &value)?.into();
                }
            }
        }
    }
    Ok(conversation.zip(head).map(|(conversation, head)| ConversationState { conversation, head, members }))
}

fn open_direct(txn: &mut Txn<'_>, pair: UserPair, new: NewDirect) -> Result<OpenedDirect, StoreError> {
    if let Some(id) = direct_of(txn, pair)? {
        return Ok(OpenedDirect { id, made: None });
    }
    let NewDirect { conversation, created } = new;
    let (id, at) = (conversation.id, conversation.created_at);
    txn.put_record(keys::pair(pair), &PairRecord(id));
    txn.put_record(keys::conversation(id), &ConversationRecord::from(&conversation));
    for user in [pair.low(), pair.high()] {
        txn.put_record(keys::member(id, user), &MemberRecord::new(Role::Member, at));
        txn.put_record(keys::cursor(id, user), &CursorRecord::from(Cursor::default()));
    }
    let mut head = HeadRecord::new(Head::empty().after(&created), at, None);
    txn.put_record(keys::head(id), &head);
    for (key, value) in entry_rows(id, created) {
        txn.put(key, value);
    }
    let creator = conversation.created_by;
    let listed = order::list(txn, creator, id, &mut head, at)?;
    Ok(OpenedDirect { id, made: Some(listed.into_iter().map(|entry| (creator, entry)).collect()) })
}

/// An append with its rows encoded, so that the committer's thread has little to do.
struct PreparedAppend {
    conversation: ConversationId,
    expected_head: Seq,
    rows: Vec<(Key, Bytes)>,
    /// The entries, with the senders of those that are messages.
    appended: Vec<(Seq, Option<UserId>)>,
    /// When the last of the entries was made.
    at: Timestamp,
    head: Head,
    cursors: Vec<CursorMove>,
    members: Vec<UserId>,
    list_for: Vec<UserId>,
}

impl PreparedAppend {
    fn new(append: Append) -> Self {
        let Append { conversation, expected_head, entries, head, cursors, members, list_for } = append;
        debug_assert!(!entries.is_empty(), "an append has entries");
        debug_assert!(
            entries.iter().zip(expected_head.get() + 1..).all(|(entry, seq)| entry.seq.get() == seq),
            "the entries of an append follow each other and the head"
        );
        let at = MessageId::new(head.id).timestamp();
        let sender = |entry: &Entry| entry.message().map(|message| message.sender_id);
        let appended = entries.iter().map(|entry| (entry.seq, sender(entry))).collect();
        let rows = entries.into_iter().flat_map(|entry| entry_rows(conversation, entry)).collect();
        Self { conversation, expected_head, rows, appended, at, head, cursors, members, list_for }
    }

    fn run(self, txn: &mut Txn<'_>) -> Result<AppendOutcome, StoreError> {
        let id = self.conversation;
        let head: Option<HeadRecord> = txn.record(&keys::head(id))?;
        let Some(mut head) = head.filter(|head| head.seq == self.expected_head) else {
            return Ok(AppendOutcome::HeadMoved);
        };
        for (key, value) in self.rows {
            txn.put(key, value);
        }
        cursors::advance_senders(txn, &self.cursors, self.expected_head, &self.appended)?;
        let mut notes = Vec::new();
        for user in self.list_for {
            notes.extend(order::list(txn, user, id, &mut head, self.at)?.map(|entry| (user, entry)));
        }
        let activity_at = self.head.activity_at().unwrap_or(head.activity_at);
        let ordered_at = order::follow(txn, id, &head, activity_at, &self.members)?;
        txn.put_record(keys::head(id), &HeadRecord::new(self.head, activity_at, ordered_at));
        Ok(AppendOutcome::Appended(notes))
    }
}

/// The rows of an entry: its own, and those by which a message is found.
fn entry_rows(conversation: ConversationId, entry: Entry) -> Vec<(Key, Bytes)> {
    let Entry { seq, id, ordinal, change } = entry;
    match change {
        Change::Message(message) => vec![
            (keys::client_id(conversation, message.sender_id, &message.client_id), SentRecord(seq).encode()),
            (keys::location(message.id), LocationRecord(conversation, seq).encode()),
            (keys::message(conversation, seq), MessageRecord::new(seq, ordinal, message).encode()),
        ],
        Change::Created { by, kind, member_ids } => {
            let record = ChangeRecord::created(id, ordinal, by, kind, member_ids);
            vec![(keys::change(conversation, seq), record.encode())]
        }
    }
}
