//! Entries of the account log.

use godwit_domain::model::{AccountChange, AccountEntry};
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, UserId};
use godwit_records::records;

use super::Millis;

records! {
    /// An entry of the log. Its names are short because there are thousands of them.
    pub(in crate::account) struct EntryBody for AccountEntry {
        #[serde(rename = "s")]
        pub(in crate::account) seq: u64,
        #[serde(rename = "t")]
        at: Millis,
        #[serde(rename = "c")]
        change: ChangeBody,
    }

    #[serde(rename_all = "snake_case")]
    enum ChangeBody for AccountChange {
        Listed(id: ConversationId) = ConversationListed(id),
        Deleted(id: ConversationId) = ConversationGone(id, GoneReason::Deleted),
        Removed(id: ConversationId) = ConversationGone(id, GoneReason::Removed),
        Settings(id: ConversationId) = SettingsChanged(id),
        Read(id: ConversationId) = ReadMoved(id),
        Hidden(id: MessageId) = MessageHidden(id),
        Starred(id: MessageId) = MessageStarred(id),
        Unstarred(id: MessageId) = MessageUnstarred(id),
        Scheduled(id: ScheduledId) = ScheduledUpdated(id),
        ScheduledGone(id: ScheduledId),
        Blocked(id: UserId) = UserBlocked(id),
        Unblocked(id: UserId) = UserUnblocked(id),
        #[serde(rename = "profile")]
        ProfileUpdated,
        DeviceAdded(id: DeviceId),
        DeviceRemoved(id: DeviceId),
    }
}
