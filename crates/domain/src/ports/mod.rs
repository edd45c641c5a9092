//! What the domain needs from the outside. Each trait says what is atomic, what may be retried and what order holds;
//! `godwit-testkit` has the conformance suite that every store passes.
//!
//! Rules that hold for every store method:
//! - What a method wrote is durable when it returns `Ok`, and every later read sees it.
//! - `Err(StoreError::Unavailable)` means that it is unknown whether the write happened; the caller may do it again
//!   where the method says that it is idempotent, and otherwise reads first.
//! - "Not found" is a value, not an error. What it means is for the use case to say.
//! - No method holds anything open between calls: pages are given by position, never by an open iterator. A page has
//!   `limit` items unless no more follow, so a shorter one is the last.
//! - A call that is refused (`HandleTaken`, `HeadMoved`, `Full`, …) or finds nothing to change has written nothing, its
//!   note included.

mod accounts;
mod clock;
mod conversations;
mod delivery;
mod inbox;
mod peers;
mod personal;
mod security;
mod transfer;

pub use accounts::{
    BlockOutcome, BlockStore, CreateDevice, CreateUser, DeviceStore, Rotation, Spending, UpdateUser,
    UserChange, UserStore,
};
pub use clock::Clock;
pub use conversations::{
    Append, AppendOutcome, ConversationStore, CursorMove, DueExpiry, HistoryEnd, Made, NewConversation,
    ReceiptTimes, SeqRange, StoredReaction,
};
pub use delivery::{Audience, Delivery, HiddenFrom, Less, OutgoingEntry, Seeing};
pub use inbox::{
    ActivityPosition, CHANGE_GRAIN_MS, ChangedRow, InboxRow, InboxStore, UnorderedRow, change_time,
};
pub use peers::{ForwardedAction, NoPeers, Peers, Unanswered};
pub use personal::{Listed, PersonalStore, ReplaceScheduled, ScheduleOutcome};
pub use security::{
    AccessClaims, ApplicationClaims, DeviceProof, HashError, PasswordHasher, RefreshClaims, TokenCodec,
    TokenError, VerifiedToken,
};
pub use transfer::{AccountLog, Changed, Creation, Moving, Part, Trail, TransferStore};

use async_trait::async_trait;
use thiserror::Error;

use crate::snowflake::IdGenerator;

/// Everything that a store is.
#[async_trait]
pub trait Store:
    UserStore + DeviceStore + BlockStore + ConversationStore + InboxStore + PersonalStore + std::fmt::Debug
{
    /// Ids that no other node and no earlier run of this one has given out. An id after which nothing was written counts
    /// only while the store is open: it has left no trace. They are refused as [`StoreError::Unavailable`] while the store
    /// cannot be sure that no other node gives out the same ones.
    fn ids(&self) -> &IdGenerator;

    /// The key with which this installation signs its tokens. The first one ever offered stays, whoever offers another.
    async fn signing_key(&self, offered: [u8; 32]) -> Result<[u8; 32], StoreError>;

    /// How much older than now activity may be that can be read only now: an append takes a moment, and the clocks of
    /// several nodes are apart.
    fn activity_lag_ms(&self) -> i64 {
        60_000
    }

    /// Whether the store can take writes; the reason if it cannot.
    fn health(&self) -> Result<(), StoreError>;
}

/// Why a store did not do what it was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// It cannot answer now. Whether a write happened is unknown.
    #[error("the store is unavailable: {operation}")]
    Unavailable {
        operation: &'static str,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A write could not be made durable. The store takes no more of them until it is opened again.
    #[error("the store has stopped after a failed write")]
    Stopped,
    /// Something stored cannot be read. It names the table and the key, never the content.
    #[error("a corrupt record in {table}, key {key}: {reason}")]
    Corrupt { table: &'static str, key: String, reason: String },
}
