//! The account log, which keeps the devices of one user in sync.
//!
//! The log is compacted: it keeps only the newest entry of each [`AccountSubject`], so its length is bounded by the number
//! of things that a user has. An entry names what changed; the server reads the details when it shows the entry.

use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Timestamp, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountEntry {
    /// Rises with every entry of the user. Replaced entries leave gaps.
    pub seq: u64,
    pub at: Timestamp,
    pub change: AccountChange,
}

/// An entry to write. The store assigns its `seq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountNote {
    pub user_id: UserId,
    pub at: Timestamp,
    pub change: AccountChange,
}

impl AccountNote {
    /// A conversation has come into the inbox.
    pub const fn listed(user_id: UserId, conversation: ConversationId, at: Timestamp) -> Self {
        Self { user_id, at, change: AccountChange::ConversationListed(conversation) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountChange {
    ConversationListed(ConversationId),
    ConversationGone(ConversationId, GoneReason),
    SettingsChanged(ConversationId),
    ReadMoved(ConversationId),
    MessageHidden(MessageId),
    MessageStarred(MessageId),
    MessageUnstarred(MessageId),
    ScheduledUpdated(ScheduledId),
    ScheduledGone(ScheduledId),
    UserBlocked(UserId),
    UserUnblocked(UserId),
    ProfileUpdated,
    DeviceAdded(DeviceId),
    DeviceRemoved(DeviceId),
}

/// The subject of an entry. A newer entry replaces an older one with the same subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccountSubject {
    Listing(ConversationId),
    Settings(ConversationId),
    Read(ConversationId),
    Hidden(MessageId),
    Star(MessageId),
    Scheduled(ScheduledId),
    Block(UserId),
    Profile,
    Device(DeviceId),
}

impl AccountChange {
    pub const fn subject(self) -> AccountSubject {
        match self {
            Self::ConversationListed(id) | Self::ConversationGone(id, _) => AccountSubject::Listing(id),
            Self::SettingsChanged(id) => AccountSubject::Settings(id),
            Self::ReadMoved(id) => AccountSubject::Read(id),
            Self::MessageHidden(id) => AccountSubject::Hidden(id),
            Self::MessageStarred(id) | Self::MessageUnstarred(id) => AccountSubject::Star(id),
            Self::ScheduledUpdated(id) | Self::ScheduledGone(id) => AccountSubject::Scheduled(id),
            Self::UserBlocked(id) | Self::UserUnblocked(id) => AccountSubject::Block(id),
            Self::ProfileUpdated => AccountSubject::Profile,
            Self::DeviceAdded(id) | Self::DeviceRemoved(id) => AccountSubject::Device(id),
        }
    }
}
