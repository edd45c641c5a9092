//! The conversation port.

use async_trait::async_trait;
use futures_util::future::try_join_all;
use godwit_domain::model::{
    AccountEntry, ClientId, Concealed, ConversationState, InviteToken, LogItem, Member, UserPair,
};
use godwit_domain::ports::{
    Append, AppendOutcome, ConversationStore, CursorMove, DueExpiry, HistoryEnd, Made, NewConversation, Part,
    ReceiptTimes, Result, SeqRange, StoredReaction,
};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

use crate::CassandraStore;
use crate::conversation::expiries;

#[async_trait]
impl ConversationStore for CassandraStore {
    async fn open_direct(&self, pair: UserPair, new: NewConversation) -> Result<Made> {
        let pass = self.gate.enter([]).await?;
        let made = self.conversations.open_direct(pair, new, &pass).await;
        pass.leave(made).await
    }

    async fn direct_of(&self, pair: UserPair) -> Result<Option<ConversationId>> {
        self.conversations.direct_of(pair).await
    }

    async fn create(&self, new: NewConversation, key: Option<&ClientId>) -> Result<Made> {
        let pass = self.gate.enter([]).await?;
        let made = self.conversations.create(new, key, &pass).await;
        pass.leave(made).await
    }

    async fn made_with(&self, by: UserId, key: &ClientId) -> Result<Option<ConversationId>> {
        Ok(self.conversations.creation(by, key).await?.map(|creation| creation.conversation))
    }

    async fn load(&self, id: ConversationId) -> Result<Option<ConversationState>> {
        self.conversations.load_shared(id).await
    }

    async fn member(&self, id: ConversationId, user: UserId) -> Result<Option<Member>> {
        self.conversations.member(id, user).await
    }

    async fn concealed(&self, id: ConversationId, users: &[UserId]) -> Result<Vec<Concealed>> {
        self.conversations.concealed(id, users).await
    }

    async fn members(&self, id: ConversationId, after: Option<UserId>, limit: usize) -> Result<Vec<Member>> {
        self.conversations.members_after(id, after, limit).await
    }

    async fn append(&self, append: &Append) -> Result<AppendOutcome> {
        let pass = self.gate.enter([Part::Conversation(append.conversation)]).await?;
        pass.leave(self.conversations.append(append).await).await
    }

    async fn entries(&self, id: ConversationId, after: Seq, limit: usize) -> Result<Vec<LogItem>> {
        self.conversations.entries(id, after, limit).await
    }

    async fn items(&self, id: ConversationId, seqs: &[Seq]) -> Result<Vec<Option<LogItem>>> {
        self.conversations.history().items(id, seqs).await
    }

    async fn history(
        &self,
        id: ConversationId,
        range: SeqRange,
        end: HistoryEnd,
        limit: usize,
    ) -> Result<Vec<LogItem>> {
        self.conversations.page(id, range, end, limit).await
    }

    async fn locate(&self, message: MessageId) -> Result<Option<(ConversationId, Seq)>> {
        self.conversations.finding().locate(message).await
    }

    async fn sent_as(&self, id: ConversationId, sender: UserId, client_id: &ClientId) -> Result<Option<Seq>> {
        self.conversations.finding().sent_as(id, sender, client_id).await
    }

    async fn sent_as_each(
        &self,
        id: ConversationId,
        sent: &[(UserId, &ClientId)],
    ) -> Result<Vec<Option<Seq>>> {
        let finding = self.conversations.finding();
        try_join_all(sent.iter().map(|(sender, client_id)| finding.sent_as(id, *sender, client_id))).await
    }

    async fn seq_at(&self, id: ConversationId, time: Timestamp) -> Result<Seq> {
        self.conversations.finding().seq_at(id, time).await
    }

    async fn move_cursors(&self, moves: &[CursorMove]) -> Result<Vec<(UserId, AccountEntry)>> {
        let parts = moves.iter().map(|by| Part::Conversation(by.conversation));
        let pass = self.gate.enter(parts).await?;
        pass.leave(self.conversations.move_cursors(moves).await).await
    }

    async fn receipts(&self, id: ConversationId, seq: Seq, users: &[UserId]) -> Result<Vec<ReceiptTimes>> {
        self.conversations.receipts(id, seq, users).await
    }

    async fn reactions(
        &self,
        id: ConversationId,
        seq: Seq,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<StoredReaction>> {
        self.conversations.reactions().after(id, seq, after, limit).await
    }

    async fn reactions_by(
        &self,
        id: ConversationId,
        asked: &[(Seq, UserId)],
    ) -> Result<Vec<Option<Box<str>>>> {
        self.conversations.reactions().by(id, asked).await
    }

    async fn replies(&self, id: ConversationId, root: Seq, after: u32, limit: usize) -> Result<Vec<Seq>> {
        self.conversations.threads().after(id, root, after, limit).await
    }

    async fn invited_to(&self, token: &InviteToken) -> Result<Option<ConversationId>> {
        self.conversations.invites().find(token).await
    }

    async fn due_expiries(&self, now: Timestamp, limit: usize) -> Result<Vec<DueExpiry>> {
        expiries::due(&self.due, now, limit).await
    }

    async fn forget_expiries(&self, done: Vec<DueExpiry>) -> Result<()> {
        let pass = self.gate.enter([]).await?;
        pass.leave(expiries::forget(&self.due, done).await).await
    }
}
