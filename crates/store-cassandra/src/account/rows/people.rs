//! Profiles and devices.

use godwit_domain::model::{
    Avatar, Device, DeviceName, DisplayName, FormerHandle, Handle, Phone, Session, Spent, Subject, User,
};
use godwit_protocol::accounts::MayBeAddedBy;
use godwit_protocol::{ConversationId, DeviceId, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::records::is_false;

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::account) struct ProfileBody {
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
    /// The user neither sends read receipts nor gets them.
    #[serde(default, skip_serializing_if = "is_false")]
    no_receipts: bool,
    #[serde(default, skip_serializing_if = "is_everybody")]
    may_be_added_by: MayBeAddedBy,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refused_groups: Vec<ConversationId>,
    /// Each with the time until which it stays reserved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    former_handles: Vec<(Box<str>, Timestamp)>,
    #[serde(default, skip_serializing_if = "is_unspent")]
    spent: SpentBody,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disabled: Option<Timestamp>,
    created: Timestamp,
}

/// The times at which the rate limits of the user are fully replenished.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct SpentBody {
    members: Timestamp,
    strangers: Timestamp,
    groups: Timestamp,
    profile: Timestamp,
}

impl Default for SpentBody {
    fn default() -> Self {
        Spent::default().into()
    }
}

impl From<Spent> for SpentBody {
    fn from(Spent { members, strangers, groups, profile }: Spent) -> Self {
        Self { members, strangers, groups, profile }
    }
}

impl From<SpentBody> for Spent {
    fn from(SpentBody { members, strangers, groups, profile }: SpentBody) -> Self {
        Self { members, strangers, groups, profile }
    }
}

fn is_unspent(spent: &SpentBody) -> bool {
    *spent == SpentBody::default()
}

fn is_everybody(who: &MayBeAddedBy) -> bool {
    *who == MayBeAddedBy::Everybody
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
            no_receipts: !user.read_receipts,
            may_be_added_by: user.may_be_added_by,
            refused_groups: user.refused_groups.clone(),
            former_handles: user
                .former_handles
                .iter()
                .map(|former| ((*former.handle).into(), former.kept_until))
                .collect(),
            spent: user.spent.into(),
            seen: user.last_seen_at,
            disabled: user.disabled_at,
            created: user.created_at,
        }
    }
}

impl ProfileBody {
    pub(in crate::account) fn into_user(self, id: UserId) -> User {
        User {
            id,
            handle: Handle::from_stored(self.handle),
            display_name: DisplayName::from_stored(self.name),
            avatar: self.avatar.map(Avatar::from_stored),
            phone: self.phone.map(Phone::from_stored),
            subject: self.subject.map(Subject::from_stored),
            password_hash: self.password,
            presence_visible: self.visible,
            read_receipts: !self.no_receipts,
            may_be_added_by: self.may_be_added_by,
            refused_groups: self.refused_groups,
            former_handles: self
                .former_handles
                .into_iter()
                .map(|(handle, kept_until)| FormerHandle { handle: Handle::from_stored(handle), kept_until })
                .collect(),
            spent: self.spent.into(),
            last_seen_at: self.seen,
            disabled_at: self.disabled,
            created_at: self.created,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::account) struct DeviceBody {
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
    pub(in crate::account) fn into_device(self, id: DeviceId, user_id: UserId) -> Device {
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
