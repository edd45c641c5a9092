//! The port for a transfer: copying everything from one store to another while servers run.
//!
//! A transfer reads and writes most data through the ordinary ports. This port adds what they lack: enumerating the whole
//! store, and tracking the changes in the source while it is copied.

use std::fmt;

use async_trait::async_trait;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::{Store, StoreError};
use crate::model::{AccountEntry, ClientId, Concealed, Cursor};

/// The unit of a transfer. Each part is copied as a whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Part {
    /// A conversation's log with its projections, and the cursors of its members.
    Conversation(ConversationId),
    /// The conversation that a user created with a key.
    Creation(UserId, ClientId),
    /// A member's settings for a conversation, and the messages that the member has hidden in it.
    Membership(UserId, ConversationId),
    /// A user with devices, blocks, stars, scheduled messages and account log.
    Account(UserId),
}

/// A conversation that was created with a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creation {
    pub by: UserId,
    pub key: ClientId,
    pub conversation: ConversationId,
}

/// The cursor of a user in a conversation, and the times of its moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail {
    pub user_id: UserId,
    pub cursor: Cursor,
    /// When the cursor last moved.
    pub moved_at: Timestamp,
    /// The stored moves, sorted by `seq`.
    pub delivered: Vec<(Seq, Timestamp)>,
    pub read: Vec<(Seq, Timestamp)>,
}

/// A complete account log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountLog {
    /// The highest `seq` that was given out.
    pub last: u64,
    /// A device that has read up to this `seq` or beyond has missed nothing.
    pub floor: u64,
    /// Sorted by `seq`.
    pub entries: Vec<AccountEntry>,
}

/// The role of a store in a transfer. The state is stored, and survives the process that runs the transfer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum TransferState {
    /// No transfer.
    #[default]
    Not,
    /// The source of a transfer. Servers use it, and it records the parts that change.
    Out { to: String },
    /// The source while writes are held.
    Held { to: String },
    /// The source after the transfer: all data is in the target, and this store never accepts a write again.
    Gone { to: String },
    /// An incomplete target. Only the transfer writes to it.
    In { from: String, progress: String },
}

impl fmt::Display for TransferState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Not => write!(f, "is not being transferred"),
            Self::Out { to } | Self::Held { to } => write!(f, "is being transferred to {to}"),
            Self::Gone { to } => write!(f, "was transferred to {to}"),
            Self::In { from, .. } => write!(f, "is being transferred from {from} to this store"),
        }
    }
}

/// A store that can be the source or the target of a transfer.
#[async_trait]
pub trait TransferStore: Store {
    /// All conversations after `after`, in an order that the store chooses.
    async fn all_conversations(
        &self,
        after: Option<ConversationId>,
        limit: usize,
    ) -> Result<Vec<ConversationId>, StoreError>;

    /// All creations with keys after `after`, in an order that the store chooses.
    async fn all_creations(
        &self,
        after: Option<&Creation>,
        limit: usize,
    ) -> Result<Vec<Creation>, StoreError>;

    async fn creation(&self, by: UserId, key: &ClientId) -> Result<Option<Creation>, StoreError>;

    /// Maps the key to the conversation, which exists. Idempotent.
    async fn put_creation(&self, creation: Creation) -> Result<(), StoreError>;

    /// The trails of all users after `after` whose cursor ever moved, including former members, sorted by user id.
    async fn trails(
        &self,
        id: ConversationId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<Trail>, StoreError>;

    /// Adds moves to the stored trails. Cursors only move forward, and the order of change follows. Writes no notes.
    /// Idempotent.
    async fn put_trails(&self, id: ConversationId, trails: Vec<Trail>) -> Result<(), StoreError>;

    /// Moves the concealed part of a user, member or not, forward; does not touch the list of hidden messages. Idempotent.
    async fn put_concealed(
        &self,
        id: ConversationId,
        user: UserId,
        concealed: Concealed,
    ) -> Result<(), StoreError>;

    /// The account log of a user; empty if it never had an entry.
    async fn account_log_of(&self, user: UserId) -> Result<AccountLog, StoreError>;

    /// Replaces the account log of an existing user. Idempotent.
    async fn put_account_log(&self, user: UserId, log: AccountLog) -> Result<(), StoreError>;

    /// An upper bound of all ids given out so far.
    async fn highest_id(&self) -> Result<u64, StoreError>;

    /// Makes every id that is given out after the store is opened again higher than `id`. Idempotent; only moves forward.
    async fn begin_ids_after(&self, id: u64) -> Result<(), StoreError>;

    async fn transfer_state(&self) -> Result<TransferState, StoreError>;

    /// Replaces the transfer state if it equals `from`, and returns the resulting state.
    ///
    /// When this returns, every server on the store knows the new state, and writes that began before have ended:
    ///
    /// - [`TransferState::Out`]: each later change records its part in [`changed`](Self::changed).
    /// - [`TransferState::Held`] and [`TransferState::Gone`]: writes fail with [`StoreError::Unavailable`], except this
    ///   method and [`settled`](Self::settled). After `Gone` the store is not healthy.
    /// - [`TransferState::Not`]: the recorded parts are forgotten.
    /// - [`TransferState::In`]: writes are accepted. Callers that open a store check its state.
    async fn set_transfer_state(
        &self,
        from: &TransferState,
        to: TransferState,
    ) -> Result<TransferState, StoreError>;

    /// Parts that have changed since they were last [`settled`](Self::settled), in any order, at most `limit`. Contains
    /// every part whose write ended before the call. Parts stay in the list until they are settled.
    async fn changed(&self, limit: usize) -> Result<Changed, StoreError>;

    /// Removes parts that have been copied as they were at the time of `changed`, or later. Parts that have changed again
    /// since stay.
    async fn settled(&self, changed: Changed) -> Result<(), StoreError>;
}

/// Changed parts, with the round that tells these changes from later ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed {
    pub parts: Vec<Part>,
    /// Meaningful only to the store.
    pub round: u64,
}
