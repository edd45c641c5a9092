//! Ports: the traits through which the domain uses stores, sockets, other servers, clocks and keys. Each trait says what is
//! atomic, what may be retried and which order holds. `godwit-testkit` has the conformance suite that every store passes.
//!
//! Rules for every store method:
//!
//! - When a method returns `Ok`, its writes are durable, and every later read sees them.
//! - `Err(StoreError::Unavailable)` means that the write may or may not have happened. The caller may retry a method that is
//!   documented as idempotent; otherwise it reads first.
//! - "Not found" is a value, not an error. The use case decides what it means.
//! - No method keeps resources open between calls: a page starts at a position, not at an open iterator. A page has `limit`
//!   items unless it is the last, so a shorter page is the last one.
//! - A call that is refused (`HandleTaken`, `HeadMoved`, `Full`, …) or finds nothing to change writes nothing, not even its
//!   note.

mod accounts;
mod clock;
mod conversations;
mod delivery;
mod inbox;
mod peers;
mod personal;
mod security;
mod transfer;

pub use crate::account::{
    BlockOutcome, ChangeSettings, CreateDevice, CreateUser, Limit, Listed, ReplaceScheduled, Rotation,
    ScheduleOutcome, Spending, UpdateUser, UserChange,
};
pub use accounts::{AccountStore, BlockStore, DeviceStore, UserStore};
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
pub use personal::PersonalStore;
pub use security::{
    AccessClaims, ApplicationClaims, DeviceProof, HashError, PasswordHasher, RefreshClaims, TokenCodec,
    TokenError, VerifiedToken,
};
pub use transfer::{AccountLog, Changed, Creation, Part, Trail, TransferState, TransferStore};

use async_trait::async_trait;
use thiserror::Error;

use crate::snowflake::IdGenerator;

/// A complete store.
#[async_trait]
pub trait Store:
    UserStore + DeviceStore + BlockStore + ConversationStore + InboxStore + PersonalStore + std::fmt::Debug
{
    /// Generates ids that no other node and no earlier run of this node has given out. An id counts as given out once
    /// something was written with it; an unused id leaves no trace after a restart. Fails with [`StoreError::Unavailable`]
    /// while the store cannot rule out that another node gives out the same ids.
    fn ids(&self) -> &IdGenerator;

    /// The key with which this installation signs its tokens. The first key that was ever offered stays, and later offers
    /// are ignored.
    async fn signing_key(&self, offered: [u8; 32]) -> Result<[u8; 32], StoreError>;

    /// How far the activity of an append that becomes readable now may lie in the past: an append takes a moment, and the
    /// clocks of nodes differ.
    fn activity_lag_ms(&self) -> i64 {
        60_000
    }

    /// `Ok` if the store accepts writes; otherwise the reason.
    fn health(&self) -> Result<(), StoreError>;
}

/// The answer of a store call.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Why a store call failed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The store cannot answer now. A write may or may not have happened.
    #[error("the store is unavailable: {operation}")]
    Unavailable {
        operation: &'static str,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A write could not be made durable. The store accepts no more writes until it is opened again.
    #[error("the store has stopped after a failed write")]
    Stopped,
    /// The store has too little room for this write, and has written nothing. It accepts writes again when there is more room,
    /// and meanwhile those that [take something away](crate::model::Change::takes_away), as long as it can.
    #[error("the store has no room")]
    Full,
    /// Stored data cannot be read. Names the table and the key, never the content.
    #[error("a corrupt record in {table}, key {key}: {reason}")]
    Corrupt { table: &'static str, key: String, reason: String },
}
