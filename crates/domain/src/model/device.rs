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

/// How the device proves who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Session {
    /// With tokens of this server. Every refresh makes a new generation; a refresh token of an older one has been used
    /// before, so somebody else has it too.
    Own { generation: u32, refresh_expires_at: Timestamp },
    /// With tokens of the embedding application. `key` tells the devices of one user apart. A device that was revoked can
    /// come back with a newer token; those that were not issued after `tokens_after`, the last revocation, stay refused.
    Application { key: Box<str>, tokens_after: Option<Timestamp>, revoked_at: Option<Timestamp> },
}

impl Device {
    pub const fn revoked_at(&self) -> Option<Timestamp> {
        match self.session {
            Session::Own { .. } => None,
            Session::Application { revoked_at, .. } => revoked_at,
        }
    }

    /// The last revocation: only tokens of the application that were issued after it are good.
    pub fn tokens_after(&self) -> Option<Timestamp> {
        match self.session {
            Session::Own { .. } => None,
            Session::Application { tokens_after, revoked_at, .. } => revoked_at.max(tokens_after),
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
