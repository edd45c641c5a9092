//! The rows of an account: their keys and their content.
//!
//! ```text
//! accounts (user)
//!   static              revision, and the head
//!   0   0               {}                       the anchor: every account has it
//!   1   0               the profile
//!   2   device          a device
//!   3   user            {}                       the user is blocked
//!   4   conversation    the membership
//!   5   seq / 32        a chunk of the account log
//!   6   revision % 64   the writer of the revision
//!   7   conversation    {}                       the conversation is fanned out on read
//!   8   scheduled       a scheduled message
//!   9   message         a star
//!   10  user            {}                       the user blocks this one, or did once
//!   16… subject         seq of the newest entry about it
//! ```
//!
//! A body is JSON and does not repeat its key. A new field needs `#[serde(default)]`, and an old field keeps
//! its name.

mod entries;
mod memberships;
mod people;
mod personal;

use std::ops::RangeInclusive;

use godwit_domain::account::LogHead;
use godwit_domain::model::AccountSubject;
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Timestamp, UserId};
use godwit_records::Stored;
use serde::{Deserialize, Serialize};

use crate::values::int;

pub(super) use entries::EntryBody;
pub(super) use memberships::MembershipBody;
pub(super) use people::{DeviceBody, ProfileBody};
pub(super) use personal::{ScheduledBody, StarBody};

/// Sequence numbers per chunk of the log. A larger chunk leaves fewer tombstones, because a row is deleted only
/// with its last entry, but every entry rewrites more bytes.
pub(super) const CHUNK_SEQS: u64 = 32;

/// Revisions whose writers are remembered.
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
/// The kinds of the rows that name the newest entry of a subject.
pub(super) const NEWEST_KINDS: RangeInclusive<i8> = 16..=24;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) kind: i8,
    pub(super) id: i64,
}

impl Key {
    /// Exists in every account. A query that asks for it too gets the static columns, even if it finds no other
    /// row.
    pub(super) const ANCHOR: Self = Self { kind: 0, id: 0 };
    pub(super) const PROFILE: Self = Self { kind: 1, id: 0 };
    /// The pinned conversations, with their positions.
    pub(super) const PINS: Self = Self { kind: 11, id: 0 };

    /// The id without its sign.
    pub(super) const fn number(self) -> u64 {
        self.id.cast_unsigned()
    }

    pub(super) fn device(id: DeviceId) -> Self {
        Self { kind: DEVICE, id: int(id.get()) }
    }

    pub(super) fn block(blocked: UserId) -> Self {
        Self { kind: BLOCK, id: int(blocked.get()) }
    }

    pub(super) fn membership(conversation: ConversationId) -> Self {
        Self { kind: MEMBERSHIP, id: int(conversation.get()) }
    }

    /// The chunk of the log that contains the entry with this seq.
    pub(super) fn chunk(seq: u64) -> Self {
        Self { kind: CHUNK, id: int(seq / CHUNK_SEQS) }
    }

    /// The writer of a revision, until a revision 64 later overwrites the row.
    pub(super) const fn writer(revision: i64) -> Self {
        Self { kind: WRITER, id: revision % WRITERS_KNOWN }
    }

    /// The mark of a conversation that is fanned out on read.
    pub(super) fn apart(conversation: ConversationId) -> Self {
        Self { kind: APART, id: int(conversation.get()) }
    }

    pub(super) fn scheduled(id: ScheduledId) -> Self {
        Self { kind: SCHEDULED, id: int(id.get()) }
    }

    pub(super) fn star(message: MessageId) -> Self {
        Self { kind: STAR, id: int(message.get()) }
    }

    /// The row that names the newest entry of a subject.
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

/// The counters of an account, in static columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Head {
    /// The seq of the newest entry.
    pub(super) log_last: u64,
    /// The seq of the newest entry that was dropped to bound the length of the log.
    pub(super) log_floor: u64,
    /// The number of entries.
    pub(super) log_count: u64,
    /// The number of blocked users.
    pub(super) blocks: u64,
    /// The number of starred messages.
    pub(super) stars: u64,
    /// The counter that fences attempts at names, see [`names`](super::names).
    pub(super) naming: u64,
}

impl Head {
    pub(super) const fn log(self) -> LogHead {
        LogHead { last: self.log_last, floor: self.log_floor, count: self.log_count }
    }

    pub(super) const fn set_log(&mut self, LogHead { last, floor, count }: LogHead) {
        (self.log_last, self.log_floor, self.log_count) = (last, floor, count);
    }
}

/// The body of a row whose key says everything.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Present {}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WriterBody {
    pub(super) revision: i64,
    /// A random name, unique to one attempt.
    pub(super) writer: Box<str>,
}

/// A time in milliseconds, which is shorter than its text.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Millis(i64);

impl Stored<'_, Timestamp> for Millis {
    fn of(value: &Timestamp) -> Self {
        Self(value.as_millis())
    }

    fn restore(self) -> Timestamp {
        Timestamp::from_millis(self.0)
    }
}
