//! Users, devices and the account log.

use godwit_domain::account::LogHead;
use godwit_domain::model::{
    AccountChange, AccountEntry, Avatar, Device, DeviceName, DisplayName, FormerHandle, Handle, Phone,
    Session, Spent, Subject, User,
};
use godwit_protocol::accounts::MayBeAddedBy;
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::Record;

#[derive(Serialize, Deserialize)]
pub(crate) struct UserRecord<'a> {
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
    former_handles: Vec<(&'a str, Timestamp)>,
    spent: SpentRecord,
    last_seen_at: Option<Timestamp>,
    pub(crate) disabled_at: Option<Timestamp>,
    created_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
enum MayBeAddedByRecord {
    Everybody,
    Contacts,
    Nobody,
}

#[derive(Serialize, Deserialize)]
struct SpentRecord {
    members: Timestamp,
    strangers: Timestamp,
    groups: Timestamp,
    profile: Timestamp,
}

impl Record for UserRecord<'_> {
    const TABLE: &'static str = "users";
}

impl<'a> From<&'a User> for UserRecord<'a> {
    fn from(user: &'a User) -> Self {
        Self {
            handle: &user.handle,
            display_name: &user.display_name,
            avatar: user.avatar.as_deref(),
            phone: user.phone.as_deref(),
            subject: user.subject.as_deref(),
            password_hash: user.password_hash.as_deref(),
            presence_visible: user.presence_visible,
            read_receipts: user.read_receipts,
            may_be_added_by: match user.may_be_added_by {
                MayBeAddedBy::Everybody => MayBeAddedByRecord::Everybody,
                MayBeAddedBy::Contacts => MayBeAddedByRecord::Contacts,
                MayBeAddedBy::Nobody => MayBeAddedByRecord::Nobody,
            },
            refused_groups: user.refused_groups.clone(),
            former_handles: user
                .former_handles
                .iter()
                .map(|former| (&*former.handle, former.kept_until))
                .collect(),
            spent: user.spent.into(),
            last_seen_at: user.last_seen_at,
            disabled_at: user.disabled_at,
            created_at: user.created_at,
        }
    }
}

impl UserRecord<'_> {
    pub(crate) fn into_user(self, id: UserId) -> User {
        User {
            id,
            handle: Handle::from_stored(self.handle),
            display_name: DisplayName::from_stored(self.display_name),
            avatar: self.avatar.map(Avatar::from_stored),
            phone: self.phone.map(Phone::from_stored),
            subject: self.subject.map(Subject::from_stored),
            password_hash: self.password_hash.map(str::to_owned),
            presence_visible: self.presence_visible,
            read_receipts: self.read_receipts,
            may_be_added_by: match self.may_be_added_by {
                MayBeAddedByRecord::Everybody => MayBeAddedBy::Everybody,
                MayBeAddedByRecord::Contacts => MayBeAddedBy::Contacts,
                MayBeAddedByRecord::Nobody => MayBeAddedBy::Nobody,
            },
            refused_groups: self.refused_groups,
            former_handles: self
                .former_handles
                .into_iter()
                .map(|(handle, kept_until)| FormerHandle { handle: Handle::from_stored(handle), kept_until })
                .collect(),
            spent: self.spent.into(),
            last_seen_at: self.last_seen_at,
            disabled_at: self.disabled_at,
            created_at: self.created_at,
        }
    }
}

impl From<Spent> for SpentRecord {
    fn from(Spent { members, strangers, groups, profile }: Spent) -> Self {
        Self { members, strangers, groups, profile }
    }
}

impl From<SpentRecord> for Spent {
    fn from(SpentRecord { members, strangers, groups, profile }: SpentRecord) -> Self {
        Self { members, strangers, groups, profile }
    }
}

/// The owner of a handle or a subject, or of a handle given up recently.
#[derive(Serialize, Deserialize)]
pub(crate) struct OwnerRecord(pub(crate) UserId);

impl Record for OwnerRecord {
    const TABLE: &'static str = "handles and subjects";
}

#[derive(Serialize, Deserialize)]
pub(crate) struct DeviceRecord {
    user_id: UserId,
    name: Box<str>,
    created_at: Timestamp,
    last_active_at: Timestamp,
    session: SessionRecord,
}

#[derive(Serialize, Deserialize)]
enum SessionRecord {
    Own { generation: u32, refresh_expires_at: Timestamp },
    Application { key: Box<str>, tokens_after: Option<Timestamp>, revoked_at: Option<Timestamp> },
}

impl Record for DeviceRecord {
    const TABLE: &'static str = "devices";
}

impl From<&Device> for DeviceRecord {
    fn from(device: &Device) -> Self {
        let session = match &device.session {
            Session::Own { generation, refresh_expires_at } => {
                SessionRecord::Own { generation: *generation, refresh_expires_at: *refresh_expires_at }
            }
            Session::Application { key, tokens_after, revoked_at } => SessionRecord::Application {
                key: key.clone(),
                tokens_after: *tokens_after,
                revoked_at: *revoked_at,
            },
        };
        Self {
            user_id: device.user_id,
            name: (*device.name).into(),
            created_at: device.created_at,
            last_active_at: device.last_active_at,
            session,
        }
    }
}

impl DeviceRecord {
    pub(crate) const fn user_id(&self) -> UserId {
        self.user_id
    }

    pub(crate) fn into_device(self, id: DeviceId) -> Device {
        let session = match self.session {
            SessionRecord::Own { generation, refresh_expires_at } => {
                Session::Own { generation, refresh_expires_at }
            }
            SessionRecord::Application { key, tokens_after, revoked_at } => {
                Session::Application { key, tokens_after, revoked_at }
            }
        };
        Device {
            id,
            user_id: self.user_id,
            name: DeviceName::from_stored(self.name),
            created_at: self.created_at,
            last_active_at: self.last_active_at,
            session,
        }
    }
}

/// A counter of a user: blocks, stars, or hidden messages of a conversation.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct CountRecord(pub(crate) u64);

impl Record for CountRecord {
    const TABLE: &'static str = "counts";
}

/// The newest entry of an account log about a subject.
#[derive(Serialize, Deserialize)]
pub(crate) struct AccountSubjectRecord(pub(crate) u64);

impl Record for AccountSubjectRecord {
    const TABLE: &'static str = "account subjects";
}

#[derive(Serialize, Deserialize)]
pub(crate) struct AccountEntryRecord {
    at: Timestamp,
    change: AccountChangeRecord,
}

#[derive(Serialize, Deserialize)]
enum AccountChangeRecord {
    ConversationListed(ConversationId),
    ConversationDeleted(ConversationId),
    ConversationRemoved(ConversationId),
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

impl Record for AccountEntryRecord {
    const TABLE: &'static str = "account log";
}

impl From<&AccountEntry> for AccountEntryRecord {
    fn from(entry: &AccountEntry) -> Self {
        use AccountChangeRecord as Stored;
        let change = match entry.change {
            AccountChange::ConversationListed(id) => Stored::ConversationListed(id),
            AccountChange::ConversationGone(id, GoneReason::Deleted) => Stored::ConversationDeleted(id),
            AccountChange::ConversationGone(id, GoneReason::Removed) => Stored::ConversationRemoved(id),
            AccountChange::SettingsChanged(id) => Stored::SettingsChanged(id),
            AccountChange::ReadMoved(id) => Stored::ReadMoved(id),
            AccountChange::MessageHidden(id) => Stored::MessageHidden(id),
            AccountChange::MessageStarred(id) => Stored::MessageStarred(id),
            AccountChange::MessageUnstarred(id) => Stored::MessageUnstarred(id),
            AccountChange::ScheduledUpdated(id) => Stored::ScheduledUpdated(id),
            AccountChange::ScheduledGone(id) => Stored::ScheduledGone(id),
            AccountChange::UserBlocked(id) => Stored::UserBlocked(id),
            AccountChange::UserUnblocked(id) => Stored::UserUnblocked(id),
            AccountChange::ProfileUpdated => Stored::ProfileUpdated,
            AccountChange::DeviceAdded(id) => Stored::DeviceAdded(id),
            AccountChange::DeviceRemoved(id) => Stored::DeviceRemoved(id),
        };
        Self { at: entry.at, change }
    }
}

impl AccountEntryRecord {
    pub(crate) fn into_entry(self, seq: u64) -> AccountEntry {
        use AccountChangeRecord as Stored;
        let change = match self.change {
            Stored::ConversationListed(id) => AccountChange::ConversationListed(id),
            Stored::ConversationDeleted(id) => AccountChange::ConversationGone(id, GoneReason::Deleted),
            Stored::ConversationRemoved(id) => AccountChange::ConversationGone(id, GoneReason::Removed),
            Stored::SettingsChanged(id) => AccountChange::SettingsChanged(id),
            Stored::ReadMoved(id) => AccountChange::ReadMoved(id),
            Stored::MessageHidden(id) => AccountChange::MessageHidden(id),
            Stored::MessageStarred(id) => AccountChange::MessageStarred(id),
            Stored::MessageUnstarred(id) => AccountChange::MessageUnstarred(id),
            Stored::ScheduledUpdated(id) => AccountChange::ScheduledUpdated(id),
            Stored::ScheduledGone(id) => AccountChange::ScheduledGone(id),
            Stored::UserBlocked(id) => AccountChange::UserBlocked(id),
            Stored::UserUnblocked(id) => AccountChange::UserUnblocked(id),
            Stored::ProfileUpdated => AccountChange::ProfileUpdated,
            Stored::DeviceAdded(id) => AccountChange::DeviceAdded(id),
            Stored::DeviceRemoved(id) => AccountChange::DeviceRemoved(id),
        };
        AccountEntry { seq, at: self.at, change }
    }
}

/// The bounds of an account log.
#[derive(Serialize, Deserialize, Default, Clone, Copy)]
pub(crate) struct AccountHeadRecord {
    /// The seq of the newest entry.
    pub(crate) last: u64,
    /// The seq of the newest entry that was dropped to bound the length of the log.
    pub(crate) floor: u64,
    /// The number of entries.
    pub(crate) count: u64,
}

impl Record for AccountHeadRecord {
    const TABLE: &'static str = "account heads";
}

impl From<LogHead> for AccountHeadRecord {
    fn from(LogHead { last, floor, count }: LogHead) -> Self {
        Self { last, floor, count }
    }
}

impl From<AccountHeadRecord> for LogHead {
    fn from(AccountHeadRecord { last, floor, count }: AccountHeadRecord) -> Self {
        Self { last, floor, count }
    }
}
