//! The values of rows: structs of their own, so that the domain can change without the disk format.
//!
//! A value is one byte of version, followed by the record in postcard: integers as varints, no names. A record
//! does not repeat its key. To change one, add a struct with the next version and read both. A test fails when
//! the bytes of a version change.

mod account;
mod conversation;
mod details;
mod entries;
mod inbox;
mod message_states;
mod messages;
mod personal;
mod transfer;
mod words;

use std::cell::RefCell;

use godwit_domain::ports::StoreError;
use serde::{Deserialize, Serialize};

pub(crate) use account::{
    AccountEntryRecord, AccountHeadRecord, AccountSubjectRecord, CountRecord, DeviceRecord, OwnerRecord,
    UserRecord,
};
pub(crate) use conversation::{
    ConcealedRecord, ConversationIdRecord, ConversationRecord, CursorRecord, HeadRecord, MemberRecord,
    MoveRecord, Standing,
};
pub(crate) use details::DetailsRecord;
pub(crate) use entries::{ChunkReader, ChunkRecord};
pub(crate) use inbox::{HotListRecord, ListingRecord, ListingState, PinsRecord};
pub(crate) use message_states::{MessageStateRecord, ReactionRecord};
pub(crate) use messages::{LocationRecord, SeqRecord};
pub(crate) use personal::{ScheduledRecord, StarRecord};
pub(crate) use transfer::{RoundRecord, TransferRecord};

use crate::engine::Bytes;
use crate::keys;

/// The capacity that a thread keeps of its encoding buffer. Few records are longer.
const SCRATCH_BYTES_KEPT: usize = 16 * 1024;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The value of a row. [`records!`](godwit_records::records) declares those that mirror a type of the domain.
pub(crate) trait Record: Serialize + Sized {
    /// The name of the rows in errors.
    const TABLE: &'static str;
    const VERSION: u8 = 1;

    fn encode(&self) -> Bytes {
        // A reused buffer that is usually large enough avoids growing a new one.
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.clear();
            scratch.push(Self::VERSION);
            postcard::to_io(self, &mut *scratch).expect("plain structs without maps can always be encoded");
            let bytes = Bytes::new(scratch);
            scratch.shrink_to(SCRATCH_BYTES_KEPT);
            bytes
        })
    }

    fn decode<'a>(key: &[u8], bytes: &'a [u8]) -> Result<Self, StoreError>
    where
        Self: Deserialize<'a>,
    {
        let (record, rest) = Self::decode_part(key, Self::content(key, bytes)?)?;
        Self::check_end(key, rest)?;
        Ok(record)
    }

    /// The bytes after the version.
    fn content<'a>(key: &[u8], bytes: &'a [u8]) -> Result<&'a [u8], StoreError> {
        match bytes.split_first() {
            Some((version, content)) if *version == Self::VERSION => Ok(content),
            Some((version, _)) => Err(corrupt::<Self>(key, format!("version {version} is not known"))),
            None => Err(corrupt::<Self>(key, "it is empty")),
        }
    }

    /// Decodes a value from the beginning of the bytes. Returns it and the rest.
    fn decode_part<'a, T: Deserialize<'a>>(key: &[u8], bytes: &'a [u8]) -> Result<(T, &'a [u8]), StoreError> {
        postcard::take_from_bytes(bytes).map_err(|error| corrupt::<Self>(key, error.to_string()))
    }

    fn check_end(key: &[u8], rest: &[u8]) -> Result<(), StoreError> {
        match rest {
            [] => Ok(()),
            _ => Err(corrupt::<Self>(key, format!("{} bytes too many", rest.len()))),
        }
    }
}

macro_rules! tables {
    ($($record:ty, $table:literal;)+) => {$(
        impl Record for $record {
            const TABLE: &'static str = $table;
        }
    )+};
}

tables! {
    UserRecord<'_>, "users";
    OwnerRecord, "handles and subjects";
    DeviceRecord, "devices";
    CountRecord, "counts";
    AccountHeadRecord, "account heads";
    AccountEntryRecord, "account log";
    AccountSubjectRecord, "account subjects";
    StarRecord, "stars";
    ScheduledRecord<'_>, "scheduled";
    ConversationRecord, "conversations";
    ConversationIdRecord, "pairs, keys and invites";
    HeadRecord, "heads";
    DetailsRecord, "details";
    MemberRecord, "members";
    CursorRecord, "cursors";
    MoveRecord, "cursor moves";
    ConcealedRecord, "concealed";
    ChunkRecord<'_>, "log";
    SeqRecord, "client ids and replies";
    LocationRecord, "locations";
    MessageStateRecord, "message states";
    ReactionRecord, "reactions";
    ListingRecord, "listings";
    HotListRecord, "hot lists";
    PinsRecord, "pins";
    TransferRecord, "transfer";
    RoundRecord, "changed parts";
}

/// The value of rows whose key says everything.
pub(crate) fn present() -> Bytes {
    Bytes::new(&[])
}

/// The error for a row that is invalid or missing.
pub(crate) fn corrupt<R: Record>(key: &[u8], reason: impl Into<String>) -> StoreError {
    StoreError::Corrupt { table: R::TABLE, key: keys::display(key), reason: reason.into() }
}
