//! Accounts, sessions and devices: `/v1/accounts`, `/v1/sessions`, `/v1/me`, `/v1/devices`.

use serde::{Deserialize, Deserializer, Serialize};

#[cfg(feature = "openapi")]
use crate::shape;
use crate::{DeviceId, Timestamp, UserId};

/// `POST /v1/accounts`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Register {
    /// The name by which others find the user: 3 to 32 of `a-z 0-9 _ .`, not case-sensitive, unique.
    #[cfg_attr(feature = "openapi", schema(value_type = shape::Handle))]
    pub handle: String,
    /// 8 to 256 characters; not a common password and not the handle.
    #[cfg_attr(feature = "openapi", schema(value_type = shape::NewPassword))]
    pub password: String,
    /// The name that others see; default: the handle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::DisplayName>))]
    pub display_name: Option<String>,
    /// In international format, such as `+34600111222`. Only the user sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::PhoneNumber>))]
    pub phone: Option<String>,
    /// How this client appears in the list of devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::DeviceName>))]
    pub device_name: Option<String>,
}

/// `POST /v1/sessions`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    pub handle: String,
    #[cfg_attr(feature = "openapi", schema(value_type = shape::Password))]
    pub password: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::DeviceName>))]
    pub device_name: Option<String>,
    /// The proof from an earlier sign-in on this client. With it, sign-in attempts by strangers do not lock the user
    /// out. A proof of another user, or an invalid one, is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_proof: Option<String>,
}

/// `POST /v1/sessions/refresh`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Refresh {
    pub refresh_token: String,
}

/// The answer to a sign-in and to a registration.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignedIn {
    pub user: Me,
    pub device: Device,
    pub tokens: Tokens,
    /// Proves that the user has signed in on this client. Keep it for each user, also after sign-out, and send it with
    /// the next sign-in. The proof alone grants no access.
    pub device_proof: String,
}

/// The tokens of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tokens {
    /// Use it in `Authorization: Bearer …` and in the `sign_in` command of the socket.
    pub access_token: String,
    pub access_expires_at: Timestamp,
    /// Valid for one use at `/v1/sessions/refresh`, which returns the next one.
    pub refresh_token: String,
    pub refresh_expires_at: Timestamp,
}

/// The user's own profile and settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Me {
    pub id: UserId,
    #[cfg_attr(feature = "openapi", schema(value_type = shape::Handle))]
    pub handle: String,
    #[cfg_attr(feature = "openapi", schema(value_type = shape::DisplayName))]
    pub display_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::AvatarUrl>))]
    pub avatar: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::PhoneNumber>))]
    pub phone: Option<String>,
    /// Whether others see when the user is online or was last seen.
    pub presence_visible: bool,
    /// Whether the user sends and receives read receipts in direct conversations.
    pub read_receipts: bool,
    pub may_be_added_by: MayBeAddedBy,
    pub created_at: Timestamp,
}

/// Who may add the user to groups and channels. Others get `needs_invite` and can send a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MayBeAddedBy {
    #[default]
    Everybody,
    /// Users to whom this user has written in a direct conversation.
    Contacts,
    Nobody,
}

/// `PATCH /v1/me`. Absent fields stay unchanged; `null` removes a value that can be removed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateMe {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Handle>))]
    pub handle: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::DisplayName>))]
    pub display_name: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::AvatarUrl>))]
    pub avatar: Option<Option<String>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::PhoneNumber>))]
    pub phone: Option<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence_visible: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_receipts: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_be_added_by: Option<MayBeAddedBy>,
}

/// `PUT /v1/me/password`. Ends every other session of the user.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangePassword {
    #[cfg_attr(feature = "openapi", schema(value_type = shape::Password))]
    pub current_password: String,
    #[cfg_attr(feature = "openapi", schema(value_type = shape::NewPassword))]
    pub new_password: String,
}

/// The answer to a password change.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PasswordChanged {
    /// The new tokens of this session; the old refresh token is no longer valid. Absent for sessions of the embedding
    /// application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
}

/// A signed-in client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Device {
    pub id: DeviceId,
    #[cfg_attr(feature = "openapi", schema(value_type = shape::DeviceName))]
    pub name: String,
    pub created_at: Timestamp,
    /// When the device last signed in or refreshed its session.
    pub last_active_at: Timestamp,
    /// Whether this device made the request.
    pub current: bool,
}

/// `GET /v1/devices`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeviceList {
    pub devices: Vec<Device>,
}

/// Distinguishes `null` (`Some(None)`) from an absent field (`None`).
pub(crate) fn present<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_distinguishes_null_from_absent() {
        let patch: UpdateMe = serde_json::from_str(r#"{"phone":null}"#).unwrap();
        assert_eq!((patch.phone, patch.avatar), (Some(None), None));
        assert!(serde_json::from_str::<UpdateMe>(r#"{"admin":true}"#).is_err());
    }
}
