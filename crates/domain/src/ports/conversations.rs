//! The conversation log and what follows from it.

use async_trait::async_trait;
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::model::{
    AccountEntry, ClientId, Concealed, Conversation, ConversationState, Cursor, Entry, InviteToken, LogItem,
    Member, UserPair,
};
use crate::projection::Effects;

#[async_trait]
pub trait ConversationStore: Send + Sync {
    /// Finds the direct conversation of a pair, or makes it with its first entry. Unique for the pair: of concurrent
    /// calls one makes it and all get the same. Finding it lists it for nobody. Idempotent.
    async fn open_direct(&self, pair: UserPair, new: NewConversation) -> Result<Made, StoreError>;

    async fn direct_of(&self, pair: UserPair) -> Result<Option<ConversationId>, StoreError>;

    /// Makes a group or a channel with its first entry. With a key it is unique for the key and
    /// `new.conversation.created_by`: of concurrent calls one makes it and all get the same. Idempotent for the same id.
    async fn create(&self, new: NewConversation, key: Option<&ClientId>) -> Result<Made, StoreError>;

    /// The group or channel that somebody has made with a key.
    async fn made_with(&self, by: UserId, key: &ClientId) -> Result<Option<ConversationId>, StoreError>;

    /// The conversation as it is now: head, details, members and cursors of one moment, or of moments after the call
    /// began. A conversation that was deleted for all is still there, and its details say so.
    async fn load(&self, id: ConversationId) -> Result<Option<ConversationState>, StoreError>;

    /// One member with their cursor, also where the conversation is fanned out on read.
    async fn member(&self, id: ConversationId, user: UserId) -> Result<Option<Member>, StoreError>;

    /// Members in the order of their ids, those after `after`.
    async fn members(
        &self,
        id: ConversationId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<Member>, StoreError>;

    /// What each of these users has deleted for themselves, in the order asked, members or not.
    async fn concealed(&self, id: ConversationId, users: &[UserId]) -> Result<Vec<Concealed>, StoreError>;

    /// The one write that needs agreement: adds entries to the end of the log if the log ends where the caller thinks.
    ///
    /// Atomic: all entries or none. When it returns `Appended`, the effects and everything else that follows from the
    /// entries (client ids, message ids, inbox rows) can be read too, also after a crash. After `HeadMoved` nothing was
    /// written: load, look for the own client ids, and try again. After an error load before the next append: the
    /// entries may be there.
    async fn append(&self, append: &Append) -> Result<AppendOutcome, StoreError>;

    /// Entries after `after` in the order of the log, at most `limit`, without gaps, also while others append. Messages
    /// come with what became of them.
    async fn entries(&self, id: ConversationId, after: Seq, limit: usize)
    -> Result<Vec<LogItem>, StoreError>;

    /// Single entries, in the order asked.
    async fn items(&self, id: ConversationId, seqs: &[Seq]) -> Result<Vec<Option<LogItem>>, StoreError>;

    /// Entries that are shown, within a range, at most `limit` from one of its ends, in the order of the log either way.
    /// Other entries between them cost nothing.
    async fn history(
        &self,
        id: ConversationId,
        range: SeqRange,
        end: HistoryEnd,
        limit: usize,
    ) -> Result<Vec<LogItem>, StoreError>;

    /// Where a message is, or another entry that is shown.
    async fn locate(&self, message: MessageId) -> Result<Option<(ConversationId, Seq)>, StoreError>;

    /// The message that a sender sent with this client id. Sees every append that was acknowledged, or read back,
    /// before the call.
    async fn sent_as(
        &self,
        id: ConversationId,
        sender: UserId,
        client_id: &ClientId,
    ) -> Result<Option<Seq>, StoreError>;

    /// The same for several, in the order asked.
    async fn sent_as_each(
        &self,
        id: ConversationId,
        sent: &[(UserId, &ClientId)],
    ) -> Result<Vec<Option<Seq>>, StoreError> {
        let mut seqs = Vec::with_capacity(sent.len());
        for (sender, client_id) in sent {
            seqs.push(self.sent_as(id, *sender, client_id).await?);
        }
        Ok(seqs)
    }

    /// The first entry that is not older than `time`; the one after the head if all are.
    async fn seq_at(&self, id: ConversationId, time: Timestamp) -> Result<Seq, StoreError>;

    /// Moves cursors forward (see [`Cursor::advanced_by`]), keeps a row of each move, and notes
    /// [`AccountChange::ReadMoved`] at the time of the move for those whose read mark moved. A mark that is behind what
    /// is stored stays. Where one moves, the members' rows in the order of change follow, see
    /// [`InboxStore::changed_since`]. The moves are of different members or conversations. Idempotent.
    ///
    /// [`AccountChange::ReadMoved`]: crate::model::AccountChange::ReadMoved
    /// [`InboxStore::changed_since`]: super::InboxStore::changed_since
    async fn move_cursors(&self, moves: &[CursorMove]) -> Result<Vec<(UserId, AccountEntry)>, StoreError>;

    /// When each of the users first had an entry delivered and read: the times of the first moves that reached it, those
    /// of an [`Append`] included. One for each user, in the order asked. A user's own message they had when they sent it,
    /// at [`Entry::at`]: so a store need not keep the moves that pass nothing else, which are most of those of senders.
    async fn receipts(
        &self,
        id: ConversationId,
        seq: Seq,
        users: &[UserId],
    ) -> Result<Vec<ReceiptTimes>, StoreError>;

    /// Who reacted to a message, in the order of their ids, those after `after`.
    async fn reactions(
        &self,
        id: ConversationId,
        seq: Seq,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<StoredReaction>, StoreError>;

    /// How each of these users reacted to the message at this place, in the order asked. The places are within a page of
    /// each other or few.
    async fn reactions_by(
        &self,
        id: ConversationId,
        asked: &[(Seq, UserId)],
    ) -> Result<Vec<Option<Box<str>>>, StoreError>;

    /// The replies of a thread in their order: those with a higher number than `after`.
    async fn replies(
        &self,
        id: ConversationId,
        root: Seq,
        after: u32,
        limit: usize,
    ) -> Result<Vec<Seq>, StoreError>;

    /// Where an invite leads that is not revoked.
    async fn invited_to(&self, token: &InviteToken) -> Result<Option<ConversationId>, StoreError>;

    /// Messages whose time was over at `now`, the longest due first.
    async fn due_expiries(&self, now: Timestamp, limit: usize) -> Result<Vec<DueExpiry>, StoreError>;

    /// They have been dealt with. Idempotent.
    async fn forget_expiries(&self, done: &[DueExpiry]) -> Result<(), StoreError>;
}

/// A conversation to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewConversation {
    pub conversation: Conversation,
    /// The first entry of the log.
    pub created: Entry,
    pub effects: Effects,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    pub id: ConversationId,
    /// What was written to account logs when the conversation was made, at its time; `None` when it was there before.
    pub made: Option<Vec<(UserId, AccountEntry)>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    pub conversation: ConversationId,
    /// The log must end here.
    pub expected_head: Seq,
    /// Contiguous, the first one after `expected_head`; never empty.
    pub entries: Vec<Entry>,
    /// What follows from them.
    pub effects: Effects,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppendOutcome {
    /// With the entries that were written to account logs.
    Appended(Vec<(UserId, AccountEntry)>),
    HeadMoved,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorMove {
    pub conversation: ConversationId,
    pub user_id: UserId,
    pub cursor: Cursor,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReaction {
    pub user_id: UserId,
    pub reaction: Box<str>,
    pub at: Timestamp,
}

/// A message whose time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueExpiry {
    pub at: Timestamp,
    pub conversation: ConversationId,
    pub seq: Seq,
}

/// Sequence numbers between two others, neither of them included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SeqRange {
    pub after: Seq,
    pub before: Seq,
}

/// Where a part of the history is taken from a longer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HistoryEnd {
    Oldest,
    Newest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiptTimes {
    pub user_id: UserId,
    pub delivered_at: Option<Timestamp>,
    pub read_at: Option<Timestamp>,
}
