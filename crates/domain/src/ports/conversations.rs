//! The conversation log and what follows from it.

use async_trait::async_trait;
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

use super::StoreError;
use crate::model::{AccountEntry, ClientId, Conversation, ConversationState, Cursor, Entry, Head, UserPair};

#[async_trait]
pub trait ConversationStore: Send + Sync {
    /// Finds the direct conversation of a pair, or makes it with its first entry. Unique for the pair: of concurrent
    /// calls one makes it and all get the same. It is listed in the inbox of `new.conversation.created_by` only, until
    /// an [`Append`] lists it for others; finding it lists it for nobody. Idempotent.
    async fn open_direct(&self, pair: UserPair, new: NewDirect) -> Result<OpenedDirect, StoreError>;

    async fn direct_of(&self, pair: UserPair) -> Result<Option<ConversationId>, StoreError>;

    /// The conversation as it is now: head, members and cursors of one moment, or of moments after the call began.
    async fn load(&self, id: ConversationId) -> Result<Option<ConversationState>, StoreError>;

    /// The one write that needs agreement: adds entries to the end of the log if the log ends where the caller thinks.
    ///
    /// Atomic: all entries or none. When it returns `Appended`, everything that follows from the entries (client ids,
    /// message ids, cursors, inbox rows, listings) can be read too, also after a crash. After `HeadMoved` nothing was
    /// written: load, look for the own client ids, and try again. After an error load before the next append: the
    /// entries may be there.
    async fn append(&self, append: Append) -> Result<AppendOutcome, StoreError>;

    /// Entries after `after` in the order of the log, at most `limit`, without gaps, also while others append.
    async fn entries(&self, id: ConversationId, after: Seq, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// One entry.
    async fn entry(&self, id: ConversationId, seq: Seq) -> Result<Option<Entry>, StoreError>;

    /// Entries that are messages, within a range, from one of its ends, at most `limit`. Other entries between them cost
    /// nothing.
    async fn messages(
        &self,
        id: ConversationId,
        range: SeqRange,
        order: MessageOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError>;

    /// Where a message is. Entries that are no messages are not found.
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
    /// is stored stays. The moves are of different members or conversations. Idempotent.
    ///
    /// [`AccountChange::ReadMoved`]: crate::model::AccountChange::ReadMoved
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
}

/// A direct conversation to be made. Both users become members ([`Role::Member`]) when it is made, with cursors at zero.
///
/// [`Role::Member`]: godwit_protocol::conversations::Role::Member
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDirect {
    pub conversation: Conversation,
    /// The first entry of the log.
    pub created: Entry,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedDirect {
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
    /// The head after the last of the entries.
    pub head: Head,
    /// The senders, read up to their own last message. Forward only, and kept as moves. They write no
    /// [`AccountChange::ReadMoved`](crate::model::AccountChange::ReadMoved): the message itself says it.
    pub cursors: Vec<CursorMove>,
    /// All members: their inbox rows follow the activity of the conversation.
    pub members: Vec<UserId>,
    /// Members in whose inbox the conversation appears from now on, if it is not there yet. Each gets a note
    /// [`AccountChange::ConversationListed`](crate::model::AccountChange::ConversationListed) at the time of the head.
    pub list_for: Vec<UserId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppendOutcome {
    /// With the entries that were written to account logs.
    Appended(Vec<(UserId, AccountEntry)>),
    HeadMoved,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorMove {
    pub conversation: ConversationId,
    pub user_id: UserId,
    pub cursor: Cursor,
    pub at: Timestamp,
}

/// Sequence numbers between two others, neither of them included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeqRange {
    pub after: Seq,
    pub before: Seq,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageOrder {
    OldestFirst,
    NewestFirst,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiptTimes {
    pub user_id: UserId,
    pub delivered_at: Option<Timestamp>,
    pub read_at: Option<Timestamp>,
}
