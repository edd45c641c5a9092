//! The conversation port.

use async_trait::async_trait;
use futures_util::future::try_join_all;
use godwit_domain::model::{
    AccountEntry, ClientId, Concealed, ConversationState, InviteToken, LogItem, Member, UserPair,
};
use godwit_domain::ports::{
    Append, AppendOutcome, ConversationStore, CursorMove, DueExpiry, HistoryEnd, Made, NewConversation, Part,
    ReceiptTimes, SeqRange, StoreError, StoredReaction,
};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

use crate::CassandraStore;
use crate::conversation::expiries;

#[async_trait]
impl ConversationStore for CassandraStore {
    async fn open_direct(&self, pair: UserPair, new: NewConversation) -> Result<Made, StoreError> {
        let pass = self.gate.enter([]).await?;
        let made = self.conversations.open_direct(pair, new, &pass).await;
        pass.leave(made).await
    }

    async fn direct_of(&self, pair: UserPair) -> Result<Option<ConversationId>, StoreError> {
        self.conversations.direct_of(pair).await
    }

    async fn create(&self, new: NewConversation, key: Option<&ClientId>) -> Result<Made, StoreError> {
        let pass = self.gate.enter([]).await?;
        let made = self.conversations.create(new, key, &pass).await;
        pass.leave(made).await
    }

    async fn made_with(&self, by: UserId, key: &ClientId) -> Result<Option<ConversationId>, StoreError> {
        Ok(self.conversations.creation(by, key).await?.map(|creation| creation.conversation))
    }

    async fn load(&self, id: ConversationId) -> Result<Option<ConversationState>, StoreError> {
        self.conversations.load_shared(id).await
    }

    async fn member(&self, id: ConversationId, user: UserId) -> Result<Option<Member>, StoreError> {
        self.conversations.member(id, user).await
    }

    async fn concealed(&self, id: ConversationId, users: &[UserId]) -> Result<Vec<Concealed>, StoreError> {
        self.conversations.concealed(id, users).await
    }

    async fn members(
        &self,
        id: ConversationId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<Member>, StoreError> {
        self.conversations.members_after(id, after, limit).await
    }

    async fn append(&self, append: &Append) -> Result<AppendOutcome, StoreError> {
        let pass = self.gate.enter([Part::Conversation(append.conversation)]).await?;
        pass.leave(self.conversations.append(append).await).await
    }

    async fn entries(
        &self,
        id: ConversationId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<LogItem>, StoreError> {
        self.conversations.entries(id, after, limit).await
    }

    async fn items(&self, id: ConversationId, seqs: &[Seq]) -> Result<Vec<Option<LogItem>>, StoreError> {
        self.conversations.history().items(id, seqs).await
    }

    async fn history(
        &self,
        id: ConversationId,
        range: SeqRange,
        end: HistoryEnd,
        limit: usize,
    ) -> Result<Vec<LogItem>, StoreError> {
        self.conversations.page(id, range, end, limit).await
    }

    async fn locate(&self, message: MessageId) -> Result<Option<(ConversationId, Seq)>, StoreError> {
        self.conversations.finding().locate(message).await
    }

    async fn sent_as(
        &self,
        id: ConversationId,
        sender: UserId,
        client_id: &ClientId,
    ) -> Result<Option<Seq>, StoreError> {
        self.conversations.finding().sent_as(id, sender, client_id).await
    }

    async fn sent_as_each(
        &self,
        id: ConversationId,
        sent: &[(UserId, &ClientId)],
    ) -> Result<Vec<Option<Seq>>, StoreError> {
        let finding = self.conversations.finding();
        try_join_all(sent.iter().map(|(sender, client_id)| finding.sent_as(id, *sender, client_id))).await
    }

    async fn seq_at(&self, id: ConversationId, time: Timestamp) -> Result<Seq, StoreError> {
        self.conversations.finding().seq_at(id, time).await
    }

    async fn move_cursors(&self, moves: &[CursorMove]) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
        let parts = moves.iter().map(|by| Part::Conversation(by.conversation));
        let pass = self.gate.enter(parts).await?;
        pass.leave(self.conversations.move_cursors(moves).await).await
    }

    async fn receipts(
        &self,
        id: ConversationId,
        seq: Seq,
        users: &[UserId],
    ) -> Result<Vec<ReceiptTimes>, StoreError> {
        self.conversations.receipts(id, seq, users).await
    }

    async fn reactions(
        &self,
        id: ConversationId,
        seq: Seq,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<StoredReaction>, StoreError> {
        self.conversations.reactions().after(id, seq, after, limit).await
    }

    async fn reactions_by(
        &self,
        id: ConversationId,
        asked: &[(Seq, UserId)],
    ) -> Result<Vec<Option<Box<str>>>, StoreError> {
        self.conversations.reactions().by(id, asked).await
    }

    async fn replies(
        &self,
        id: ConversationId,
        root: Seq,
        after: u32,
        limit: usize,
    ) -> Result<Vec<Seq>, StoreError> {
        self.conversations.threads().after(id, root, after, limit).await
    }

    async fn invited_to(&self, token: &InviteToken) -> Result<Option<ConversationId>, StoreError> {
        self.conversations.invites().find(token).await
    }

    async fn due_expiries(&self, now: Timestamp, limit: usize) -> Result<Vec<DueExpiry>, StoreError> {
        expiries::due(&self.due, now, limit).await
    }

    async fn forget_expiries(&self, done: &[DueExpiry]) -> Result<(), StoreError> {
        let pass = self.gate.enter([]).await?;
        pass.leave(expiries::forget(&self.due, done).await).await
    }
}
