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
//!   16… thing           seq of the newest entry about it
//! ```
//!
//! A body is JSON, and does not repeat what its key says. A new field needs `#[serde(default)]`, and an old one keeps its
//! name for good.

use godwit_domain::model::{
    AccountChange, AccountEntry, AccountSubject, Avatar, Device, DeviceName, DisplayName, Handle, Phone,
    Session, Settings, Subject, User,
};
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, DeviceId, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::{Membership, Place, Section};
use crate::values::int;

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

    /// Where it stands which entry is the newest about a thing.
    pub(super) fn newest(subject: AccountSubject) -> Self {
        let (kind, id) = match subject {
            AccountSubject::Listing(id) => (16, id.get()),
            AccountSubject::Settings(id) => (17, id.get()),
            AccountSubject::Read(id) => (18, id.get()),
            AccountSubject::Block(id) => (19, id.get()),
            AccountSubject::Profile => (20, 0),
            AccountSubject::Device(id) => (21, id.get()),
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

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProfileBody {
    handle: Box<str>,
    name: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    avatar: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phone: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    password: Option<String>,
    visible: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disabled: Option<Timestamp>,
    created: Timestamp,
}

impl From<&User> for ProfileBody {
    fn from(user: &User) -> Self {
        Self {
            handle: (*user.handle).into(),
            name: (*user.display_name).into(),
            avatar: user.avatar.as_deref().map(Into::into),
            phone: user.phone.as_deref().map(Into::into),
            subject: user.subject.as_deref().map(Into::into),
            password: user.password_hash.clone(),
            visible: user.presence_visible,
            seen: user.last_seen_at,
            disabled: user.disabled_at,
            created: user.created_at,
        }
    }
}

impl ProfileBody {
    pub(super) fn into_user(self, id: UserId) -> User {
        User {
            id,
            handle: Handle::from_stored(self.handle),
            display_name: DisplayName::from_stored(self.name),
            avatar: self.avatar.map(Avatar::from_stored),
            phone: self.phone.map(Phone::from_stored),
            subject: self.subject.map(Subject::from_stored),
            password_hash: self.password,
            presence_visible: self.visible,
            last_seen_at: self.seen,
            disabled_at: self.disabled,
            created_at: self.created,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DeviceBody {
    name: Box<str>,
    created: Timestamp,
    active: Timestamp,
    session: SessionBody,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SessionBody {
    Own {
        generation: u32,
        expires: Timestamp,
    },
    Application {
        key: Box<str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revoked: Option<Timestamp>,
    },
}

impl From<&Device> for DeviceBody {
    fn from(device: &Device) -> Self {
        let session = match &device.session {
            Session::Own { generation, refresh_expires_at } => {
                SessionBody::Own { generation: *generation, expires: *refresh_expires_at }
            }
            Session::Application { key, tokens_after, revoked_at } => {
                SessionBody::Application { key: key.clone(), after: *tokens_after, revoked: *revoked_at }
            }
        };
        Self {
            name: (*device.name).into(),
            created: device.created_at,
            active: device.last_active_at,
            session,
        }
    }
}

impl DeviceBody {
    pub(super) fn into_device(self, id: DeviceId, user_id: UserId) -> Device {
        let session = match self.session {
            SessionBody::Own { generation, expires } => {
                Session::Own { generation, refresh_expires_at: expires }
            }
            SessionBody::Application { key, after, revoked } => {
                Session::Application { key, tokens_after: after, revoked_at: revoked }
            }
        };
        Device {
            id,
            user_id,
            name: DeviceName::from_stored(self.name),
            created_at: self.created,
            last_active_at: self.active,
            session,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MembershipBody {
    revision: u64,
    #[serde(default)]
    listed: bool,
    #[serde(default)]
    pinned: bool,
    #[serde(default)]
    archived: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    muted: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<PlaceBody>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PlaceBody {
    section: u8,
    at: i64,
    version: u64,
}

impl From<&Membership> for MembershipBody {
    fn from(membership: &Membership) -> Self {
        let place = |place: Place| PlaceBody {
            section: place.section.0,
            at: place.at.as_millis(),
            version: place.version,
        };
        Self {
            revision: membership.revision,
            listed: membership.listed,
            pinned: membership.settings.pinned,
            archived: membership.settings.archived,
            muted: membership.settings.muted_until,
            place: membership.place.map(place),
        }
    }
}

impl From<MembershipBody> for Membership {
    fn from(body: MembershipBody) -> Self {
        let place = |place: PlaceBody| Place {
            section: Section(place.section),
            at: Timestamp::from_millis(place.at),
            version: place.version,
        };
        Self {
            listed: body.listed,
            settings: Settings { pinned: body.pinned, archived: body.archived, muted_until: body.muted },
            place: body.place.map(place),
            revision: body.revision,
        }
    }
}

/// An entry of the log. Its names are short because there are thousands of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct EntryBody {
    #[serde(rename = "s")]
    pub(super) seq: u64,
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
            ChangeBody::Blocked(id) => AccountChange::UserBlocked(id),
            ChangeBody::Unblocked(id) => AccountChange::UserUnblocked(id),
            ChangeBody::Profile => AccountChange::ProfileUpdated,
            ChangeBody::DeviceAdded(id) => AccountChange::DeviceAdded(id),
            ChangeBody::DeviceRemoved(id) => AccountChange::DeviceRemoved(id),
        };
        Self { seq: body.seq, at: Timestamp::from_millis(body.at), change }
    }
}
