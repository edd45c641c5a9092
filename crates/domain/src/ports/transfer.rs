//! Moving everything from one store to another, while servers go on.
//!
//! Most of it is read and written by the ordinary ports: whoever moves makes the other store equal through them. Here is
//! what they do not have, and how a store that is left keeps track of what changes.

use std::fmt;

use async_trait::async_trait;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::{Store, StoreError};
use crate::model::{AccountEntry, ClientId, Concealed, Cursor};

/// Something that is copied as a whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Part {
    /// A conversation's log and what follows from it, and how far its members have come.
    Conversation(ConversationId),
    /// Which conversation somebody made with a key.
    Creation(UserId, ClientId),
    /// What a member has set for a conversation, and hidden in it.
    Membership(UserId, ConversationId),
    /// A user, their devices, blocks, stars and scheduled messages, and their account log.
    Account(UserId),
}

/// A conversation that was made with a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creation {
    pub by: UserId,
    pub key: ClientId,
    pub conversation: ConversationId,
}

/// How far somebody has come in a conversation, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail {
    pub user_id: UserId,
    pub cursor: Cursor,
    /// When the cursor last moved.
    pub moved_at: Timestamp,
    /// The moves that are kept, in the order of their places.
    pub delivered: Vec<(Seq, Timestamp)>,
    pub read: Vec<(Seq, Timestamp)>,
}

/// An account log as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountLog {
    /// The highest seq that was given out.
    pub last: u64,
    /// Who has read up to here, or further, has missed nothing.
    pub floor: u64,
    /// In the order of their seqs.
    pub entries: Vec<AccountEntry>,
}

/// What is known in a store of a move from it or into it. It stays until it is over, also when nobody is at it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Moving {
    /// Nothing is moved.
    #[default]
    Not,
    /// Servers use it, and changed parts are kept.
    Out { to: String },
    /// The same, but nothing can be written for the moment.
    Held { to: String },
    /// All of it is elsewhere now, and nothing will ever be written here again.
    Gone { to: String },
    /// It is not complete yet. Only whoever moves writes.
    In { from: String, progress: String },
}

impl fmt::Display for Moving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Not => write!(f, "is where it was"),
            Self::Out { to } | Self::Held { to } => write!(f, "is being moved to {to}"),
            Self::Gone { to } => write!(f, "was moved to {to}"),
            Self::In { from, .. } => write!(f, "is being moved here from {from}"),
        }
    }
}

/// A store that can be moved from and into.
#[async_trait]
pub trait TransferStore: Store {
    /// All conversations in an order of the store's own: those after `after`.
    async fn all_conversations(
        &self,
        after: Option<ConversationId>,
        limit: usize,
    ) -> Result<Vec<ConversationId>, StoreError>;

    /// All that was made with keys, in an order of the store's own: those after `after`.
    async fn all_creations(
        &self,
        after: Option<&Creation>,
        limit: usize,
    ) -> Result<Vec<Creation>, StoreError>;

    async fn creation(&self, by: UserId, key: &ClientId) -> Result<Option<Creation>, StoreError>;

    /// From now on the key leads to the conversation, which exists. Idempotent.
    async fn put_creation(&self, creation: &Creation) -> Result<(), StoreError>;

    /// How far each user has come who ever was a member and moved, in the order of their ids: those after `after`.
    async fn trails(
        &self,
        id: ConversationId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<Trail>, StoreError>;

    /// Adds to the trails that are there. Cursors only move forward, and the order of change follows. Notes nothing.
    /// Idempotent.
    async fn put_trails(&self, id: ConversationId, trails: &[Trail]) -> Result<(), StoreError>;

    /// Adds to what somebody has deleted for themselves, member or not, all but which messages are hidden. Idempotent, forward
    /// only.
    async fn put_concealed(
        &self,
        id: ConversationId,
        user: UserId,
        concealed: Concealed,
    ) -> Result<(), StoreError>;

    /// The account log of a user; an empty one when nothing was ever noted.
    async fn account_log_of(&self, user: UserId) -> Result<AccountLog, StoreError>;

    /// Puts it in the place of the one that is there. The user exists. Idempotent.
    async fn put_account_log(&self, user: UserId, log: AccountLog) -> Result<(), StoreError>;

    /// No id that was given out so far is higher.
    async fn highest_id(&self) -> Result<u64, StoreError>;

    /// Ids that are given out after the store is opened again are all higher. Idempotent, forward only.
    async fn begin_ids_after(&self, id: u64) -> Result<(), StoreError>;

    async fn moving(&self) -> Result<Moving, StoreError>;

    /// Changes what is known of a move, if it is `from`; gives back what it is now.
    ///
    /// When this returns, every server on the store knows, and writes that began before have ended:
    /// - with [`Moving::Out`] each later change leaves its part in [`changed`](Self::changed);
    /// - with [`Moving::Held`] and [`Moving::Gone`] writes fail as [`StoreError::Unavailable`], but for this method and
    ///   [`settled`](Self::settled), and after `Gone` the store is not healthy;
    /// - with [`Moving::Not`] the parts that have changed are forgotten;
    /// - with [`Moving::In`] writes are not refused: whoever opens a store asks what it is.
    async fn set_moving(&self, from: &Moving, to: Moving) -> Result<Moving, StoreError>;

    /// Parts that have changed since they were last [`settled`](Self::settled), in any order, at most `limit`. Every part
    /// that was changed by a write that ended before the call is among them. They stay until they are settled.
    async fn changed(&self, limit: usize) -> Result<Changed, StoreError>;

    /// They have been copied as they were when `changed` was called, or later. Those that changed again since stay.
    async fn settled(&self, changed: Changed) -> Result<(), StoreError>;
}

/// Parts that changed, and what tells these changes from later ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed {
    pub parts: Vec<Part>,
    /// Of the store's own.
    pub round: u64,
}
