//! Users, devices and the account log.

use godwit_domain::account::LogHead;
use godwit_domain::model::{AccountChange, AccountEntry, Device, FormerHandle, Session, Spent, User};
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Timestamp, UserId};
use godwit_records::records;
use serde::{Deserialize, Serialize};

use super::words::MayBeAddedByRecord;

records! {
    pub(crate) struct UserRecord<'a> for User, into_user(id: UserId) {
        handle: &'a str,
        display_name: &'a str,
        avatar: Option<&'a str>,
        phone: Option<&'a str>,
        subject: Option<&'a str>,
        password_hash: Option<&'a str>,
        presence_visible: bool,
        read_receipts: bool,
        may_be_added_by: MayBeAddedByRecord,
        refused_groups: Vec<ConversationId>,
        #[serde(borrow)]
        former_handles: Vec<FormerHandleRecord<'a>>,
        spent: SpentRecord,
        last_seen_at: Option<Timestamp>,
        pub(crate) disabled_at: Option<Timestamp>,
        created_at: Timestamp,
    }

    struct FormerHandleRecord<'a> for FormerHandle {
        handle: &'a str,
        kept_until: Timestamp,
    }

    struct SpentRecord for Spent {
        members: Timestamp,
        strangers: Timestamp,
        groups: Timestamp,
        profile: Timestamp,
    }

    pub(crate) struct DeviceRecord for Device, into_device(id: DeviceId) {
        pub(crate) user_id: UserId,
        name: Box<str>,
        created_at: Timestamp,
        last_active_at: Timestamp,
        session: SessionRecord,
    }

    enum SessionRecord for Session {
        Own { generation: u32, refresh_expires_at: Timestamp },
        Application { key: Box<str>, tokens_after: Option<Timestamp>, revoked_at: Option<Timestamp> },
    }

    pub(crate) struct AccountEntryRecord for AccountEntry, into_entry(seq: u64) {
        at: Timestamp,
        change: AccountChangeRecord,
    }

    enum AccountChangeRecord for AccountChange {
        ConversationListed(id: ConversationId),
        ConversationDeleted(id: ConversationId) = ConversationGone(id, GoneReason::Deleted),
        ConversationRemoved(id: ConversationId) = ConversationGone(id, GoneReason::Removed),
        SettingsChanged(id: ConversationId),
        ReadMoved(id: ConversationId),
        MessageHidden(id: MessageId),
        MessageStarred(id: MessageId),
        MessageUnstarred(id: MessageId),
        ScheduledUpdated(id: ScheduledId),
        ScheduledGone(id: ScheduledId),
        UserBlocked(id: UserId),
        UserUnblocked(id: UserId),
        ProfileUpdated,
        DeviceAdded(id: DeviceId),
        DeviceRemoved(id: DeviceId),
    }

    /// The bounds of an account log.
    #[derive(Default, Clone, Copy)]
    pub(crate) struct AccountHeadRecord for LogHead {
        /// The seq of the newest entry.
        pub(crate) last: u64,
        /// The seq of the newest entry that was dropped to bound the length of the log.
        pub(crate) floor: u64,
        /// The number of entries.
        pub(crate) count: u64,
    }
}

/// The owner of a handle or a subject, or of a handle given up recently.
#[derive(Serialize, Deserialize)]
pub(crate) struct OwnerRecord(pub(crate) UserId);

/// A counter of a user: blocks, stars, or hidden messages of a conversation.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct CountRecord(pub(crate) u64);

/// The newest entry of an account log about a subject.
#[derive(Serialize, Deserialize)]
pub(crate) struct AccountSubjectRecord(pub(crate) u64);
