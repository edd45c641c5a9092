//! The rows of an account: how they are addressed, and what stands in them.
//!
//! ```text
//! accounts (user)
//!   static              revision, and the head
//!   0   0               {}                       in every account
//!   1   0               the profile
//!   2   device          a device
//!   3   user            {}                       is blocked
//!   4   conversation    the membership
//!   5   seq / 32        entries of the log
//!   6   revision % 64   who made this revision
//!   7   conversation    {}                       is fanned out on read
//!   8   scheduled       a message to be sent later
//!   9   message         a star
//!   10  user            {}                       has blocked this one, once at least
//!   16… thing           seq of the newest entry about it
//! ```
//!
//! A body is JSON, and does not repeat what its key says. A new field needs `#[serde(default)]`, and an old one keeps its
//! name for good.

mod entries;
mod memberships;
mod people;
mod personal;

use std::ops::RangeInclusive;

use godwit_domain::model::AccountSubject;
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, UserId};
use serde::{Deserialize, Serialize};

use crate::values::int;

pub(super) use entries::EntryBody;
pub(super) use memberships::MembershipBody;
pub(super) use people::{DeviceBody, ProfileBody};
pub(super) use personal::{ScheduledBody, StarBody};

/// Entries of the log that share a row: those whose seq divided by this is the same. A larger number means fewer
/// tombstones, because a row goes only with its last entry; and more to write for each entry.
pub(super) const CHUNK_SEQS: u64 = 32;

/// Revisions of which it is known who made them.
pub(super) const WRITERS_KNOWN: i64 = 64;

pub(super) const DEVICE: i8 = 2;
pub(super) const BLOCK: i8 = 3;
pub(super) const MEMBERSHIP: i8 = 4;
pub(super) const CHUNK: i8 = 5;
pub(super) const WRITER: i8 = 6;
pub(super) const APART: i8 = 7;
pub(super) const SCHEDULED: i8 = 8;
pub(super) const STAR: i8 = 9;
pub(super) const BLOCKER: i8 = 10;
/// Those of the rows that say which entry is the newest about a thing.
pub(super) const NEWEST_KINDS: RangeInclusive<i8> = 16..=24;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) kind: i8,
    pub(super) id: i64,
}

impl Key {
    /// In every account: whoever reads it too gets the static columns, also when nothing else is found.
    pub(super) const ANCHOR: Self = Self { kind: 0, id: 0 };
    pub(super) const PROFILE: Self = Self { kind: 1, id: 0 };

    pub(super) fn device(id: DeviceId) -> Self {
        Self { kind: DEVICE, id: int(id.get()) }
    }

    pub(super) fn block(blocked: UserId) -> Self {
        Self { kind: BLOCK, id: int(blocked.get()) }
    }

    pub(super) fn membership(conversation: ConversationId) -> Self {
        Self { kind: MEMBERSHIP, id: int(conversation.get()) }
    }

    /// The chunk of the log that has the entry of this seq.
    pub(super) fn chunk(seq: u64) -> Self {
        Self { kind: CHUNK, id: int(seq / CHUNK_SEQS) }
    }

    /// Where it stands who made a revision, until another one takes the row.
    pub(super) const fn writer(revision: i64) -> Self {
        Self { kind: WRITER, id: revision % WRITERS_KNOWN }
    }

    /// That a conversation is fanned out on read.
    pub(super) fn apart(conversation: ConversationId) -> Self {
        Self { kind: APART, id: int(conversation.get()) }
    }

    pub(super) fn scheduled(id: ScheduledId) -> Self {
        Self { kind: SCHEDULED, id: int(id.get()) }
    }

    pub(super) fn star(message: MessageId) -> Self {
        Self { kind: STAR, id: int(message.get()) }
    }

    /// Where it stands which entry is the newest about a thing.
    pub(super) fn newest(subject: AccountSubject) -> Self {
        let (kind, id) = match subject {
            AccountSubject::Listing(id) => (16, id.get()),
            AccountSubject::Settings(id) => (17, id.get()),
            AccountSubject::Read(id) => (18, id.get()),
            AccountSubject::Block(id) => (19, id.get()),
            AccountSubject::Profile => (20, 0),
            AccountSubject::Device(id) => (21, id.get()),
            AccountSubject::Hidden(id) => (22, id.get()),
            AccountSubject::Star(id) => (23, id.get()),
            AccountSubject::Scheduled(id) => (24, id.get()),
        };
        Self { kind, id: int(id) }
    }
}

/// What is counted for the account as a whole: the static columns that are not about writing itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Head {
    /// The seq of the newest entry.
    pub(super) log_last: u64,
    /// The seq of the newest entry that was dropped for the length of the log.
    pub(super) log_floor: u64,
    /// How many entries there are.
    pub(super) log_count: u64,
    /// How many users are blocked.
    pub(super) blocks: u64,
    /// How many messages are starred.
    pub(super) stars: u64,
    /// See [`names`](super::names).
    pub(super) naming: u64,
}

/// A row whose key says everything.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Present {}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WriterBody {
    pub(super) revision: i64,
    /// A number that was made for this one attempt.
    pub(super) writer: Box<str>,
}
