//! The writes that a decision about an account asks for.

use godwit_protocol::{ConversationId, DeviceId, MessageId, Seq, UserId};

use super::{Name, Pins};
use crate::model::{AccountEntry, Device, Scheduled, Settings, Star, User};

/// One write. A store writes all effects of a decision atomically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountEffect {
    /// Writes the profile and indexes the user by the search words of the new one.
    PutProfile {
        before: Option<Box<User>>,
        after: Box<User>,
    },
    /// Gives the name to this user, even if it is recorded for another one.
    TakeName(Name),
    /// The user no longer keeps the name. If it is recorded for this user, its record goes.
    ReleaseName(Name),
    AddDevice(Device),
    ChangeDevice(Device),
    RemoveDevice(DeviceId),
    /// Adds a block and increments the count of blocks.
    AddBlock(UserId),
    /// Removes a block and decrements the count of blocks.
    RemoveBlock(UserId),
    /// Adds a star and increments the count of stars.
    AddStar(Star),
    /// Removes a star and decrements the count of stars.
    RemoveStar(MessageId),
    /// Hides a message, moves [`Concealed::hidden_to`] forward to it, and increments the count of hidden messages if the
    /// message was not hidden before.
    ///
    /// [`Concealed::hidden_to`]: crate::model::Concealed::hidden_to
    Hide(ConversationId, Seq),
    /// Stores a scheduled message that is due at [`Scheduled::due_at`], and removes the due time of `before`.
    PutScheduled {
        before: Option<Box<Scheduled>>,
        after: Box<Scheduled>,
    },
    RemoveScheduled(Box<Scheduled>),
    /// Writes the settings for a conversation. If it is in the inbox, they decide in which section.
    PutSettings(ConversationId, Box<Settings>),
    PutPins(Pins),
    Note(Noted),
}

/// A new entry of the account log, and the entries that it removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noted {
    pub entry: AccountEntry,
    /// The `seq` of the entry about the same subject, which the new one replaces.
    pub replaced: Option<u64>,
    /// The oldest entry, which is dropped because the log is full.
    pub dropped: Option<AccountEntry>,
    pub head: LogHead,
}

/// The counters of an account log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogHead {
    /// The `seq` of the newest entry.
    pub last: u64,
    /// The `seq` of the newest entry that was dropped because the log was full.
    pub floor: u64,
    /// The number of entries.
    pub count: u64,
}

impl LogHead {
    /// True if the log still has every entry after `after`. Otherwise a device that has read up to `after` cannot catch up
    /// from the log.
    pub const fn is_complete_after(self, after: u64) -> bool {
        self.floor <= after && after <= self.last
    }
}
