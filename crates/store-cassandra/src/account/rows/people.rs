//! Profiles and devices.

use godwit_domain::model::{Device, FormerHandle, Session, Spent, User};
use godwit_protocol::accounts::MayBeAddedBy;
use godwit_protocol::{ConversationId, DeviceId, Timestamp, UserId};
use godwit_records::{Stored, records};
use serde::{Deserialize, Serialize};

records! {
    pub(in crate::account) struct ProfileBody for User, into_user(id: UserId) {
        handle: Box<str>,
        #[serde(rename = "name")]
        display_name: Box<str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        avatar: Option<Box<str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phone: Option<Box<str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<Box<str>>,
        #[serde(default, rename = "password", skip_serializing_if = "Option::is_none")]
        password_hash: Option<String>,
        #[serde(rename = "visible")]
        presence_visible: bool,
        #[serde(default, rename = "no_receipts", skip_serializing_if = "Negated::is_false")]
        read_receipts: Negated,
        #[serde(default, skip_serializing_if = "is_everybody")]
        may_be_added_by: MayBeAddedBy,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        refused_groups: Vec<ConversationId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        former_handles: Vec<FormerHandleBody>,
        #[serde(default, skip_serializing_if = "is_unspent")]
        spent: SpentBody,
        #[serde(default, rename = "seen", skip_serializing_if = "Option::is_none")]
        last_seen_at: Option<Timestamp>,
        #[serde(default, rename = "disabled", skip_serializing_if = "Option::is_none")]
        disabled_at: Option<Timestamp>,
        #[serde(rename = "created")]
        created_at: Timestamp,
    }

    struct FormerHandleBody for FormerHandle (handle: Box<str>, kept_until: Timestamp);

    /// The times at which the rate limits of the user are fully replenished.
    #[derive(PartialEq)]
    struct SpentBody for Spent {
        members: Timestamp,
        strangers: Timestamp,
        groups: Timestamp,
        profile: Timestamp,
    }

    pub(in crate::account) struct DeviceBody for Device, into_device(id: DeviceId, user_id: UserId) {
        name: Box<str>,
        #[serde(rename = "created")]
        created_at: Timestamp,
        #[serde(rename = "active")]
        last_active_at: Timestamp,
        session: SessionBody,
    }

    #[serde(rename_all = "snake_case")]
    enum SessionBody for Session {
        Own {
            generation: u32,
            #[serde(rename = "expires")]
            refresh_expires_at: Timestamp,
        },
        Application {
            key: Box<str>,
            #[serde(default, rename = "after", skip_serializing_if = "Option::is_none")]
            tokens_after: Option<Timestamp>,
            #[serde(default, rename = "revoked", skip_serializing_if = "Option::is_none")]
            revoked_at: Option<Timestamp>,
        },
    }
}

impl Default for SpentBody {
    fn default() -> Self {
        (&Spent::default()).into()
    }
}

fn is_unspent(spent: &SpentBody) -> bool {
    *spent == SpentBody::default()
}

fn is_everybody(who: &MayBeAddedBy) -> bool {
    *who == MayBeAddedBy::Everybody
}

/// A setting that is on unless the row says otherwise: here, that the user sends read receipts and gets them.
#[derive(Default, Serialize, Deserialize)]
struct Negated(bool);

impl Negated {
    const fn is_false(&self) -> bool {
        !self.0
    }
}

impl Stored<'_, bool> for Negated {
    fn of(value: &bool) -> Self {
        Self(!value)
    }

    fn restore(self) -> bool {
        !self.0
    }
}
