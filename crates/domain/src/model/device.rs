//! Devices: the signed-in clients of a user, each with its session.

use godwit_protocol::{DeviceId, Timestamp, UserId, accounts};

use super::user::DeviceName;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    pub id: DeviceId,
    pub user_id: UserId,
    pub name: DeviceName,
    pub created_at: Timestamp,
    /// When the device last signed in or refreshed.
    pub last_active_at: Timestamp,
    pub session: Session,
}

/// How the device authenticates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Session {
    /// With tokens of this server. Every refresh starts a new generation. A refresh token of an older generation has been
    /// used before, so it may be stolen.
    Own { generation: u32, refresh_expires_at: Timestamp },
    /// With tokens of the embedding application. `key` tells the devices of one user apart. A revoked device can return with
    /// a newer token; tokens that were not issued after `tokens_after`, the last revocation, stay refused.
    Application { key: Box<str>, tokens_after: Option<Timestamp>, revoked_at: Option<Timestamp> },
}

impl Device {
    pub const fn revoked_at(&self) -> Option<Timestamp> {
        match self.session {
            Session::Own { .. } => None,
            Session::Application { revoked_at, .. } => revoked_at,
        }
    }

    /// The last revocation. Only tokens of the application that were issued after it are valid.
    pub fn tokens_after(&self) -> Option<Timestamp> {
        match self.session {
            Session::Own { .. } => None,
            Session::Application { tokens_after, revoked_at, .. } => revoked_at.max(tokens_after),
        }
    }

    /// True if both are the same device of the application.
    pub(crate) fn has_key_of(&self, other: &Self) -> bool {
        match (&self.session, &other.session) {
            (Session::Application { key, .. }, Session::Application { key: other, .. }) => key == other,
            _ => false,
        }
    }

    pub fn to_wire(&self, current: DeviceId) -> accounts::Device {
        accounts::Device {
            id: self.id,
            name: self.name.to_string(),
            created_at: self.created_at,
            last_active_at: self.last_active_at,
            current: self.id == current,
        }
    }
}
