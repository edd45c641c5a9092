//! Entries of the account log.

use godwit_domain::model::{AccountChange, AccountEntry};
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Timestamp, UserId};
use serde::{Deserialize, Serialize};

/// An entry of the log. Its names are short because there are thousands of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::account) struct EntryBody {
    #[serde(rename = "s")]
    pub(in crate::account) seq: u64,
    #[serde(rename = "t")]
    at: i64,
    #[serde(rename = "c")]
    change: ChangeBody,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ChangeBody {
    Listed(ConversationId),
    Deleted(ConversationId),
    Removed(ConversationId),
    Settings(ConversationId),
    Read(ConversationId),
    Hidden(MessageId),
    Starred(MessageId),
    Unstarred(MessageId),
    Scheduled(ScheduledId),
    ScheduledGone(ScheduledId),
    Blocked(UserId),
    Unblocked(UserId),
    Profile,
    DeviceAdded(DeviceId),
    DeviceRemoved(DeviceId),
}

impl From<&AccountEntry> for EntryBody {
    fn from(entry: &AccountEntry) -> Self {
        let change = match entry.change {
            AccountChange::ConversationListed(id) => ChangeBody::Listed(id),
            AccountChange::ConversationGone(id, GoneReason::Deleted) => ChangeBody::Deleted(id),
            AccountChange::ConversationGone(id, GoneReason::Removed) => ChangeBody::Removed(id),
            AccountChange::SettingsChanged(id) => ChangeBody::Settings(id),
            AccountChange::ReadMoved(id) => ChangeBody::Read(id),
            AccountChange::MessageHidden(id) => ChangeBody::Hidden(id),
            AccountChange::MessageStarred(id) => ChangeBody::Starred(id),
            AccountChange::MessageUnstarred(id) => ChangeBody::Unstarred(id),
            AccountChange::ScheduledUpdated(id) => ChangeBody::Scheduled(id),
            AccountChange::ScheduledGone(id) => ChangeBody::ScheduledGone(id),
            AccountChange::UserBlocked(id) => ChangeBody::Blocked(id),
            AccountChange::UserUnblocked(id) => ChangeBody::Unblocked(id),
            AccountChange::ProfileUpdated => ChangeBody::Profile,
            AccountChange::DeviceAdded(id) => ChangeBody::DeviceAdded(id),
            AccountChange::DeviceRemoved(id) => ChangeBody::DeviceRemoved(id),
        };
        Self { seq: entry.seq, at: entry.at.as_millis(), change }
    }
}

impl From<&EntryBody> for AccountEntry {
    fn from(body: &EntryBody) -> Self {
        let change = match body.change {
            ChangeBody::Listed(id) => AccountChange::ConversationListed(id),
            ChangeBody::Deleted(id) => AccountChange::ConversationGone(id, GoneReason::Deleted),
            ChangeBody::Removed(id) => AccountChange::ConversationGone(id, GoneReason::Removed),
            ChangeBody::Settings(id) => AccountChange::SettingsChanged(id),
            ChangeBody::Read(id) => AccountChange::ReadMoved(id),
            ChangeBody::Hidden(id) => AccountChange::MessageHidden(id),
            ChangeBody::Starred(id) => AccountChange::MessageStarred(id),
            ChangeBody::Unstarred(id) => AccountChange::MessageUnstarred(id),
            ChangeBody::Scheduled(id) => AccountChange::ScheduledUpdated(id),
            ChangeBody::ScheduledGone(id) => AccountChange::ScheduledGone(id),
            ChangeBody::Blocked(id) => AccountChange::UserBlocked(id),
            ChangeBody::Unblocked(id) => AccountChange::UserUnblocked(id),
            ChangeBody::Profile => AccountChange::ProfileUpdated,
            ChangeBody::DeviceAdded(id) => AccountChange::DeviceAdded(id),
            ChangeBody::DeviceRemoved(id) => AccountChange::DeviceRemoved(id),
        };
        Self { seq: body.seq, at: Timestamp::from_millis(body.at), change }
    }
}
