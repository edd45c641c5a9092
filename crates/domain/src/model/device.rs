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
    /// With tokens of the embedding application. `key` tells the devices of one user apart. Tokens that were issued before
    /// `revoked_at` are refused.
    Application { key: Box<str>, revoked_at: Option<Timestamp> },
}

impl Device {
    pub const fn revoked_at(&self) -> Option<Timestamp> {
        match self.session {
            Session::Own { .. } => None,
            Session::Application { revoked_at, .. } => revoked_at,
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
