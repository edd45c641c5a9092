//! The key layout. All keys are encoded and decoded in this module, which has a file for each part of the
//! layout.
//!
//! The first byte of a key is the tag of its kind. Ids, sequence numbers and times are big-endian, so that keys
//! sort by them; `~` is the complement, for the opposite order. Each table is a tree of its own in the engine,
//! because their rows have different lives: log rows are large and only change when they are erased, index rows
//! are small and read by exact key, and state rows are overwritten all the time.
//!
//! ```text
//! log                                         (`keys/log.rs`)
//! ├─ 01 conversation last-seq                 a chunk of shown entries: messages and notices
//! └─ 02 conversation last-seq                 a chunk of other entries
//! index
//! ├─ 01 conversation sender client-id         seq of the message sent with this client id
//! ├─ 02 first-message                         location of shown entries with consecutive ids
//! └─ 03 token                                 conversation of an invite
//! state
//! ├─ 01                                       the highest id given out
//! ├─ 02                                       the signing key
//! │                                           (`keys/transfer.rs`)
//! ├─ 03                                       the state of a transfer to another store, or from one
//! ├─ 04 part                                  round in which a part last changed during a transfer
//! │     ├─ 00 conversation
//! │     ├─ 01 maker client-id                 the conversation made with this key
//! │     ├─ 02 user conversation               a membership: settings and hidden messages
//! │     └─ 03 user                            an account
//! │                                           (`keys/account.rs`)
//! ├─ 10 user                                  a user
//! ├─ 11 handle                                owner of a handle
//! ├─ 12 subject                               owner of a subject
//! ├─ 13 prefix 00 user                        a user found by the prefix of a word
//! ├─ 20 device                                a device
//! ├─ 21 user device                           devices of a user
//! ├─ 30 user blocked                          a user blocked by this one
//! ├─ 31 user                                  number of users blocked by this one
//! ├─ 32 blocked user                          a user who blocks this one
//! ├─ 40 user seq                              an entry of the account log
//! ├─ 41 user subject                          seq of the newest entry about this subject
//! ├─ 42 user                                  bounds of the account log
//! │                                           (`keys/conversation.rs`)
//! ├─ 50 conversation                          (one range: a conversation is loaded with one scan)
//! │     ├─ 00                                 constant properties
//! │     ├─ 01                                 head
//! │     ├─ 02                                 details
//! │     ├─ 03 user                            a member (the scan of a large conversation stops here)
//! │     ├─ 04 user                            the cursor of a member, once it has moved
//! │     └─ 05 user                            what a user has deleted for themselves, member or not
//! ├─ 51 low high                              the direct conversation of a pair
//! ├─ 52 conversation user mark seq            time when a cursor reached seq
//! ├─ 53 maker client-id                       the group or channel made with this key
//! ├─ 54 conversation seq                      the state of a message
//! ├─ 55 conversation seq user                 a reaction
//! ├─ 56 conversation root number              a reply in a thread
//! ├─ 57 time conversation seq                 a message that disappears at this time
//! │                                           (`keys/inbox.rs`)
//! ├─ 60 user section ~activity ~conversation  the order of the inbox, see `inbox/order.rs`
//! ├─ 61 user                                  hot list: conversations whose row in 60 is outdated
//! ├─ 62 user conversation                     listing and settings
//! ├─ 63 user conversation                     a conversation that is fanned out on read
//! ├─ 64 conversation                          a hot conversation
//! ├─ 65 user ~change ~conversation            the order of change, see `inbox/changes.rs`
//! ├─ 66 user                                  pinned conversations
//! │                                           (`keys/personal.rs`)
//! ├─ 70 user message                          a star
//! ├─ 71 user                                  number of stars
//! ├─ 72 user conversation seq                 a hidden message
//! ├─ 73 user conversation                     number of hidden messages
//! ├─ 74 user scheduled                        a scheduled message
//! ├─ 75 time user scheduled                   a scheduled message by its time, unless it failed
//! └─ 76 conversation seq user                 a user for whom a message is hidden
//! ```

mod account;
mod builder;
mod conversation;
mod inbox;
mod log;
mod personal;
mod transfer;

use godwit_domain::ports::StoreError;

pub(crate) use self::account::*;
pub(crate) use self::conversation::*;
pub(crate) use self::inbox::*;
pub(crate) use self::log::*;
pub(crate) use self::personal::*;
pub(crate) use self::transfer::*;

use self::builder::KeyBuilder;
pub(crate) use crate::engine::{Key, KeyRange, Table};

pub(crate) fn highest_id() -> Key {
    state(0x01).key()
}

pub(crate) fn signing_key() -> Key {
    state(0x02).key()
}

/// The id or sequence number at the end of a key.
pub(crate) fn last_id(table: &'static str, key: &[u8]) -> Result<u64, StoreError> {
    let id = key.last_chunk().map(|id| u64::from_be_bytes(*id));
    id.ok_or_else(|| malformed(table, key))
}

/// A key as errors and logs show it.
pub(crate) fn display(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The ids after the tag.
fn first_ids<const N: usize>(table: &'static str, key: &[u8]) -> Result<[u64; N], StoreError> {
    let ids = key.get(1..).and_then(|ids| ids.as_chunks::<8>().0.first_chunk::<N>());
    let ids = ids.ok_or_else(|| malformed(table, key))?;
    Ok(ids.map(u64::from_be_bytes))
}

/// The ids at the end of a key.
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
