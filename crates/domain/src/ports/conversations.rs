//! The conversation log and its projections.

use async_trait::async_trait;
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::model::{
    AccountChange, AccountEntry, AccountNote, ClientId, Concealed, Conversation, ConversationState, Cursor,
    Entry, InviteToken, LogItem, Member, UserPair,
};
use crate::projection::Effects;

#[async_trait]
pub trait ConversationStore: Send + Sync {
    /// Finds the direct conversation of a pair, or creates it with its first entry. The pair is a unique key: of concurrent
    /// calls, one creates the conversation and all return it. Finding an existing conversation does not list it. Idempotent.
    async fn open_direct(&self, pair: UserPair, new: NewConversation) -> Result<Made, StoreError>;

    async fn direct_of(&self, pair: UserPair) -> Result<Option<ConversationId>, StoreError>;

    /// Creates a group or a channel with its first entry. With a key, (`key`, `new.conversation.created_by`) is unique: of
    /// concurrent calls, one creates the conversation and all return it. Idempotent for the same id.
    async fn create(&self, new: NewConversation, key: Option<&ClientId>) -> Result<Made, StoreError>;

    /// The group or channel that a user has created with a key.
    async fn made_with(&self, by: UserId, key: &ClientId) -> Result<Option<ConversationId>, StoreError>;

    /// The current state of the conversation: head, details, members and cursors of one moment, or of moments after the call
    /// began. A conversation that was deleted for all still exists, and its details say that it is deleted.
    async fn load(&self, id: ConversationId) -> Result<Option<ConversationState>, StoreError>;

    /// One member with their cursor. Works for conversations that are fanned out on read too.
    async fn member(&self, id: ConversationId, user: UserId) -> Result<Option<Member>, StoreError>;

    /// Members with an id after `after`, sorted by id.
    async fn members(
        &self,
        id: ConversationId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<Member>, StoreError>;

    /// What each of these users has concealed, in the order of `users`, for members and non-members.
    async fn concealed(&self, id: ConversationId, users: &[UserId]) -> Result<Vec<Concealed>, StoreError>;

    /// Appends entries to the log, if its head is still the expected one (compare-and-set). This is the only write that
    /// needs agreement.
    ///
    /// Atomic: the log gets all entries or none. After `Appended`, every read sees the effects and all data derived from the
    /// entries (client ids, message ids, inbox rows), also after a crash. After `HeadMoved`, nothing was written: load the
    /// conversation, look for your client ids, and try again. After an error, load the conversation before the next append:
    /// the log may have the entries.
    async fn append(&self, append: &Append) -> Result<AppendOutcome, StoreError>;

    /// Entries after `after` in the order of the log, at most `limit`, without gaps, also during concurrent appends.
    /// Messages come with their states.
    async fn entries(&self, id: ConversationId, after: Seq, limit: usize)
    -> Result<Vec<LogItem>, StoreError>;

    /// Single entries, in the order of `seqs`.
    async fn items(&self, id: ConversationId, seqs: &[Seq]) -> Result<Vec<Option<LogItem>>, StoreError>;

    /// Shown entries within a range, at most `limit`, taken from one end of the range and always in the order of the log.
    /// Entries between them that are not shown cost nothing.
    async fn history(
        &self,
        id: ConversationId,
        range: SeqRange,
        end: HistoryEnd,
        limit: usize,
    ) -> Result<Vec<LogItem>, StoreError>;

    /// The conversation and `seq` of a message or another shown entry.
    async fn locate(&self, message: MessageId) -> Result<Option<(ConversationId, Seq)>, StoreError>;

    /// The message that a sender sent with this client id. Sees every append that was acknowledged or read before the call.
    async fn sent_as(
        &self,
        id: ConversationId,
        sender: UserId,
        client_id: &ClientId,
    ) -> Result<Option<Seq>, StoreError>;

    /// Like [`sent_as`](Self::sent_as) for several client ids, in the order of the arguments.
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

    /// The `seq` of the first entry that is not older than `time`. If all are older, the `seq` after the head.
    async fn seq_at(&self, id: ConversationId, time: Timestamp) -> Result<Seq, StoreError>;

    /// Moves cursors forward (see [`Cursor::advanced_by`]), keeps a row of each move, and notes [`AccountChange::ReadMoved`]
    /// at the time of the move for each user whose read mark moved. A mark behind the stored one changes nothing. If a
    /// cursor moves, the member's row in the order of change moves too, see [`InboxStore::changed_since`]. No two moves are
    /// of the same member and conversation. Idempotent.
    ///
    /// [`AccountChange::ReadMoved`]: crate::model::AccountChange::ReadMoved
    /// [`InboxStore::changed_since`]: super::InboxStore::changed_since
    async fn move_cursors(&self, moves: &[CursorMove]) -> Result<Vec<(UserId, AccountEntry)>, StoreError>;

    /// When an entry was first delivered to each user, and first read: the times of the first moves that reached it,
    /// including those in an [`Append`]. One item per user, in the order of the arguments. For a user's own message both
    /// times are [`Entry::at`]. A store therefore need not keep moves that pass nothing but own messages, which are most
    /// moves of senders.
    async fn receipts(
        &self,
        id: ConversationId,
        seq: Seq,
        users: &[UserId],
    ) -> Result<Vec<ReceiptTimes>, StoreError>;

    /// The reactions to a message by users with an id after `after`, sorted by user id.
    async fn reactions(
        &self,
        id: ConversationId,
        seq: Seq,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<StoredReaction>, StoreError>;

    /// The reaction of each of these users to the message at this `seq`, in the order of the arguments. All seqs lie within
    /// one page, or there are few of them.
    async fn reactions_by(
        &self,
        id: ConversationId,
        asked: &[(Seq, UserId)],
    ) -> Result<Vec<Option<Box<str>>>, StoreError>;

    /// The replies of a thread with a number above `after`, in their order.
    async fn replies(
        &self,
        id: ConversationId,
        root: Seq,
        after: u32,
        limit: usize,
    ) -> Result<Vec<Seq>, StoreError>;

    /// The conversation of an invite that is not revoked.
    async fn invited_to(&self, token: &InviteToken) -> Result<Option<ConversationId>, StoreError>;

    /// Messages that had expired at `now`, the longest overdue first.
    async fn due_expiries(&self, now: Timestamp, limit: usize) -> Result<Vec<DueExpiry>, StoreError>;

    /// Removes expiries that the caller has handled. Idempotent.
    async fn forget_expiries(&self, done: Vec<DueExpiry>) -> Result<(), StoreError>;
}

/// A conversation to create.
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
    /// The account log entries that the creation wrote, at its time. `None` if the conversation existed before.
    pub made: Option<Vec<(UserId, AccountEntry)>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    pub conversation: ConversationId,
    /// The head that the log must have.
    pub expected_head: Seq,
    /// Contiguous entries, the first one right after `expected_head`. Never empty.
    pub entries: Vec<Entry>,
    /// The effects of the entries.
    pub effects: Effects,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppendOutcome {
    /// The append succeeded, and wrote these account log entries.
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

impl CursorMove {
    /// The note about a move between these cursors in the member's account log: other devices of the member show what is
    /// unread, and not what was delivered.
    pub fn note(&self, before: Cursor, after: Cursor) -> Option<AccountNote> {
        let change = AccountChange::ReadMoved(self.conversation);
        (after.read > before.read).then_some(AccountNote { user_id: self.user_id, at: self.at, change })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReaction {
    pub user_id: UserId,
    pub reaction: Box<str>,
    pub at: Timestamp,
}

/// A message that has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueExpiry {
    pub at: Timestamp,
    pub conversation: ConversationId,
    pub seq: Seq,
}

/// Sequence numbers between two others, both exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SeqRange {
    pub after: Seq,
    pub before: Seq,
}

/// The end of a range from which a page of the history is taken.
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

impl ReceiptTimes {
    /// The times of an entry for its sender, who has it from the beginning. `None` for other users.
    pub fn of_sender(user_id: UserId, entry: Option<&Entry>) -> Option<Self> {
        let sent =
            entry.filter(|entry| entry.message().is_some_and(|message| message.sender_id == user_id))?;
        Some(Self { user_id, delivered_at: Some(sent.at()), read_at: Some(sent.at()) })
    }
}
