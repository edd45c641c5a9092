//! The key layout. Every key is encoded and decoded in this module; its parts are those of the layout.
//!
//! The first byte of a key is the tag of its kind. Ids, sequence numbers and times are big-endian, so that the order of
//! keys is their order; `~` is the complement, for the opposite order. Each table is a tree of its own in the engine,
//! because their rows live differently: log rows are large and never change but to be erased, index rows are small and
//! are asked for by exact key, and rows of the state are overwritten all the time.
//!
//! ```text
//! log                                         (`keys/log.rs`)
//! ├─ 01 conversation last-seq                 a chunk of entries that are shown: messages and notices
//! └─ 02 conversation last-seq                 a chunk of other entries
//! index
//! ├─ 01 conversation sender client-id         seq of the message sent with this client id
//! ├─ 02 first-message                         where entries that are shown are, whose ids follow each other
//! └─ 03 token                                 where an invite leads
//! state
//! ├─ 01                                       the highest id given out
//! ├─ 02                                       the signing key
//! │                                           (`keys/transfer.rs`)
//! ├─ 03                                       what is known of a move to another store, or from one
//! ├─ 04 part                                  a part that was changed while it is moved: in which round
//! │     ├─ 00 conversation
//! │     ├─ 01 maker client-id                 which conversation was made with this key
//! │     ├─ 02 user conversation               what a member has set, and hidden
//! │     └─ 03 user                            an account
//! │                                           (`keys/accounts.rs`)
//! ├─ 10 user                                  a user
//! ├─ 11 handle                                whose it is
//! ├─ 12 subject                               whose it is
//! ├─ 13 prefix 00 user                        who is found by the beginning of a word
//! ├─ 20 device                                a device
//! ├─ 21 user device                           devices of a user
//! ├─ 30 user blocked                          whom a user blocks
//! ├─ 31 user                                  how many they are
//! ├─ 32 blocked user                          who blocks a user
//! ├─ 40 user seq                              an entry of the account log
//! ├─ 41 user subject                          seq of the entry about this subject
//! ├─ 42 user                                  where the account log begins and ends
//! │                                           (`keys/conversations.rs`)
//! ├─ 50 conversation                          (one range: a conversation is loaded with one scan)
//! │     ├─ 00                                 what it is
//! │     ├─ 01                                 head
//! │     ├─ 02                                 details
//! │     ├─ 03 user                            a member (from here on the scan of a large one is cut off)
//! │     ├─ 04 user                            the cursor of a member, once it has moved
//! │     └─ 05 user                            how far somebody has deleted for themselves, member or not
//! ├─ 51 low high                              the direct conversation of a pair
//! ├─ 52 conversation user mark seq            when a cursor came to seq
//! ├─ 53 maker client-id                       the group or channel made with this key
//! ├─ 54 conversation seq                      what became of a message
//! ├─ 55 conversation seq user                 a reaction
//! ├─ 56 conversation root number              a reply in a thread
//! ├─ 57 time conversation seq                 a message that is to disappear
//! │                                           (`keys/inbox.rs`)
//! ├─ 60 user section ~activity ~conversation  the inbox in its order, see `order.rs`
//! ├─ 61 user                                  conversations whose row in 60 is behind
//! ├─ 62 user conversation                     listing and settings
//! ├─ 63 user conversation                     conversations that are fanned out on read
//! ├─ 64 conversation                          conversations that are hot
//! ├─ 65 user ~change ~conversation            the order of change, see `changes.rs`
//! │                                           (`keys/personal.rs`)
//! ├─ 70 user message                          a star
//! ├─ 71 user                                  how many they are
//! ├─ 72 user conversation seq                 a message that is hidden
//! ├─ 73 user conversation                     how many they are
//! ├─ 74 user scheduled                        a message to be sent later
//! ├─ 75 time user scheduled                   when, unless that failed
//! └─ 76 conversation seq user                 from whom a message is hidden
//! ```

mod accounts;
mod builder;
mod conversations;
mod inbox;
mod log;
mod personal;
mod transfer;

use godwit_domain::ports::StoreError;

pub(crate) use self::accounts::*;
pub(crate) use self::conversations::*;
pub(crate) use self::inbox::*;
pub(crate) use self::log::*;
pub(crate) use self::personal::*;
pub(crate) use self::transfer::*;

use self::builder::KeyBuilder;
use crate::engine::Bytes;

/// A tree of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Table {
    Log,
    Index,
    State,
}

impl Table {
    pub(crate) const COUNT: usize = 3;
    pub(crate) const ALL: [Self; Self::COUNT] = [Self::Log, Self::Index, Self::State];

    /// Its place in [`Table::ALL`].
    pub(crate) const fn place(self) -> usize {
        self as usize
    }

    /// As files name it.
    pub(crate) const fn number(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Index => "index",
            Self::State => "state",
        }
    }
}

/// Where a row is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) table: Table,
    pub(crate) bytes: Bytes,
}

/// The keys from `start` up to `end`, which is not included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) table: Table,
    pub(crate) start: Bytes,
    pub(crate) end: Bytes,
}

pub(crate) fn highest_id() -> Key {
    state(0x01).key()
}

pub(crate) fn signing_key() -> Key {
    state(0x02).key()
}

/// The id or sequence number with which a key ends.
pub(crate) fn last_id(table: &'static str, key: &[u8]) -> Result<u64, StoreError> {
    let id = key.last_chunk().map(|id| u64::from_be_bytes(*id));
    id.ok_or_else(|| malformed(table, key))
}

/// A key as errors and logs show it.
pub(crate) fn display(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The ids that follow the tag.
fn first_ids<const N: usize>(table: &'static str, key: &[u8]) -> Result<[u64; N], StoreError> {
    let ids = key.get(1..).and_then(|ids| ids.as_chunks::<8>().0.first_chunk::<N>());
    let ids = ids.ok_or_else(|| malformed(table, key))?;
    Ok(ids.map(u64::from_be_bytes))
}

/// The ids with which a key ends.
fn last_ids<const N: usize>(table: &'static str, key: &[u8]) -> Result<[u64; N], StoreError> {
    let ids = key.as_rchunks::<8>().1.last_chunk::<N>();
    let ids = ids.ok_or_else(|| malformed(table, key))?;
    Ok(ids.map(u64::from_be_bytes))
}

fn malformed(table: &'static str, key: &[u8]) -> StoreError {
    StoreError::Corrupt { table, key: display(key), reason: "the key is malformed".into() }
}

fn log(tag: u8) -> KeyBuilder {
    KeyBuilder::new(Table::Log, tag)
}

fn index(tag: u8) -> KeyBuilder {
    KeyBuilder::new(Table::Index, tag)
}

fn state(tag: u8) -> KeyBuilder {
    KeyBuilder::new(Table::State, tag)
}
