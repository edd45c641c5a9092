//! The conversation port, on the modules of [`conversation`](crate::conversation).

use async_trait::async_trait;
use godwit_domain::model::{
    AccountEntry, ClientId, Concealed, ConversationState, InviteToken, LogItem, Member, UserPair,
};
use godwit_domain::ports::{
    Append, AppendOutcome, ConversationStore, CursorMove, DueExpiry, HistoryEnd, Made, NewConversation,
    ReceiptTimes, Result, SeqRange, StoredReaction,
};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

use crate::account::concealed;
use crate::conversation::append::PreparedAppend;
use crate::conversation::making::{PreparedConversation, conversation_at};
use crate::conversation::{cursors, history, load, reactions, threads};
use crate::keys::{self, Key};
use crate::txn::Txn;
use crate::{EmbeddedStore, due};

#[async_trait]
impl ConversationStore for EmbeddedStore {
    async fn open_direct(&self, pair: UserPair, new: NewConversation) -> Result<Made> {
        self.make("open a conversation", new, Some(keys::pair(pair))).await
    }

    async fn direct_of(&self, pair: UserPair) -> Result<Option<ConversationId>> {
        conversation_at(&self.engine.view(), &keys::pair(pair))
    }

    async fn create(&self, new: NewConversation, key: Option<&ClientId>) -> Result<Made> {
        let unique = key.map(|key| keys::made_with(new.conversation.created_by, key));
        self.make("create a conversation", new, unique).await
    }

    async fn made_with(&self, by: UserId, key: &ClientId) -> Result<Option<ConversationId>> {
        conversation_at(&self.engine.view(), &keys::made_with(by, key))
    }

    async fn load(&self, id: ConversationId) -> Result<Option<ConversationState>> {
        load::load(&self.engine.view(), id)
    }

    async fn member(&self, id: ConversationId, user: UserId) -> Result<Option<Member>> {
        load::member(&self.engine.view(), id, user)
    }

    async fn concealed(&self, id: ConversationId, users: &[UserId]) -> Result<Vec<Concealed>> {
        let view = self.engine.view();
        users.iter().map(|user| concealed::of(&view, id, *user)).collect()
    }

    async fn members(&self, id: ConversationId, after: Option<UserId>, limit: usize) -> Result<Vec<Member>> {
        load::members(&self.engine.view(), id, after, limit)
    }

    async fn append(&self, append: &Append) -> Result<AppendOutcome> {
        let takes_away = append.entries.iter().all(|entry| entry.change.takes_away());
        let append = PreparedAppend::new(append);
        let write = move |txn: &mut Txn<'_>| append.run(txn);
        if takes_away {
            self.write("take away from a conversation", write).await
        } else {
            self.write_content("append to a conversation", write).await
        }
    }

    async fn entries(&self, id: ConversationId, after: Seq, limit: usize) -> Result<Vec<LogItem>> {
        history::entries(&self.engine.view(), id, after, limit)
    }

    async fn items(&self, id: ConversationId, seqs: &[Seq]) -> Result<Vec<Option<LogItem>>> {
        history::items(&self.engine.view(), id, seqs)
    }

    async fn history(
        &self,
        id: ConversationId,
        range: SeqRange,
        end: HistoryEnd,
        limit: usize,
    ) -> Result<Vec<LogItem>> {
        history::history(&self.engine.view(), id, range, end, limit)
    }

    async fn locate(&self, message: MessageId) -> Result<Option<(ConversationId, Seq)>> {
        history::locate(&self.engine.view(), message)
    }

    async fn sent_as(&self, id: ConversationId, sender: UserId, client_id: &ClientId) -> Result<Option<Seq>> {
        history::sent_as(&self.engine.view(), id, sender, client_id)
    }

    async fn seq_at(&self, id: ConversationId, time: Timestamp) -> Result<Seq> {
        history::seq_at(&self.engine.view(), id, time)
    }

    async fn move_cursors(&self, moves: &[CursorMove]) -> Result<Vec<(UserId, AccountEntry)>> {
        let moves = moves.to_vec();
        self.write("move cursors", move |txn| cursors::advance(txn, &moves)).await
    }

    async fn receipts(&self, id: ConversationId, seq: Seq, users: &[UserId]) -> Result<Vec<ReceiptTimes>> {
        cursors::receipts(&self.engine.view(), id, seq, users)
    }

    async fn reactions(
        &self,
        id: ConversationId,
        seq: Seq,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<StoredReaction>> {
        reactions::after(&self.engine.view(), id, seq, after, limit)
    }

    async fn reactions_by(
        &self,
        id: ConversationId,
        asked: &[(Seq, UserId)],
    ) -> Result<Vec<Option<Box<str>>>> {
        reactions::by(&self.engine.view(), id, asked)
    }

    async fn replies(&self, id: ConversationId, root: Seq, after: u32, limit: usize) -> Result<Vec<Seq>> {
        threads::after(&self.engine.view(), id, root, after, limit)
    }

    async fn invited_to(&self, token: &InviteToken) -> Result<Option<ConversationId>> {
        conversation_at(&self.engine.view(), &keys::invite(token))
    }

    async fn due_expiries(&self, now: Timestamp, limit: usize) -> Result<Vec<DueExpiry>> {
        due::expiries(&self.engine.view(), now, limit)
    }

    async fn forget_expiries(&self, done: Vec<DueExpiry>) -> Result<()> {
        let write = move |txn: &mut Txn<'_>| {
            due::forget_expiries(txn, &done);
            Ok(())
        };
        self.write("forget expiries", write).await
    }
}

impl EmbeddedStore {
    /// Makes a conversation, unless its unique key already leads to another one.
    async fn make(&self, operation: &'static str, new: NewConversation, unique: Option<Key>) -> Result<Made> {
        if let Some(key) = &unique
            && let Some(id) = conversation_at(&self.engine.view(), key)?
        {
            return Ok(Made { id, made: None });
        }
        let new = PreparedConversation::new(new);
        self.write_content(operation, move |txn| new.run(txn, unique)).await
    }
}
