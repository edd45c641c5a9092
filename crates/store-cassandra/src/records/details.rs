//! Details of conversations, and changes of details.

use godwit_domain::model::{
    Ban, ClientId, Details, DetailsChange, FanOut, Invite, InviteToken, MentionOfAll, Pin,
};
use godwit_protocol::conversations::{EditsVisibleTo, HistoryVisibility, Permissions, Role};
use godwit_protocol::{InviteId, MessageId, Seq, Timestamp, UserId};
use serde::{Deserialize, Deserializer, Serialize};

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredDetails {
    through: Seq,
    updated_at: Timestamp,
    name: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<Box<str>>,
    permissions: Permissions,
    history: HistoryVisibility,
    edits_visible_to: EditsVisibleTo,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message_ttl_secs: Option<u32>,
    member_count: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    staff: Vec<(UserId, Role)>,
    fan_out: StoredFanOut,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pins: Vec<StoredPin>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    invites: Vec<StoredInvite>,
    /// The banned user, the user who banned them, and the time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bans: Vec<(UserId, UserId, Timestamp)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    mentions_of_all: Vec<(Seq, UserId)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    writers: Vec<UserId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleted_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoredFanOut {
    OnWrite,
    OnRead,
}

#[derive(Serialize, Deserialize)]
struct StoredPin {
    message_id: MessageId,
    seq: Seq,
    by: UserId,
    at: Timestamp,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredInvite {
    id: InviteId,
    token: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_id: Option<Box<str>>,
    created_by: UserId,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uses_max: Option<u32>,
    uses: u32,
}

/// A missing field stays as it is; null removes the value.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredDetailsChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "changed")]
    description: Option<Option<Box<str>>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "changed")]
    image: Option<Option<Box<str>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permissions: Option<Permissions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    history: Option<HistoryVisibility>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edits_visible_to: Option<EditsVisibleTo>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "changed")]
    message_ttl_secs: Option<Option<u32>>,
}

fn changed<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl From<&Details> for StoredDetails {
    fn from(details: &Details) -> Self {
        let Details {
            through,
            updated_at,
            name,
            description,
            image,
            permissions,
            history,
            edits_visible_to,
            message_ttl_secs,
            member_count,
            staff,
            fan_out,
            pins,
            invites,
            bans,
            mentions_of_all,
            writers,
            deleted_at,
        } = details.clone();
        Self {
            through,
            updated_at,
            name,
            description,
            image,
            permissions,
            history,
            edits_visible_to,
            message_ttl_secs,
            member_count,
            staff,
            fan_out: fan_out.into(),
            pins: pins.into_iter().map(StoredPin::from).collect(),
            invites: invites.iter().map(StoredInvite::from).collect(),
            bans: bans.into_iter().map(|ban| (ban.user_id, ban.by, ban.at)).collect(),
            mentions_of_all: mentions_of_all.into_iter().map(|mention| (mention.seq, mention.by)).collect(),
            writers,
            deleted_at,
        }
    }
}

impl From<StoredDetails> for Details {
    fn from(stored: StoredDetails) -> Self {
        let mention = |(seq, by)| MentionOfAll { seq, by };
        Self {
            through: stored.through,
            updated_at: stored.updated_at,
            name: stored.name,
            description: stored.description,
            image: stored.image,
            permissions: stored.permissions,
            history: stored.history,
            edits_visible_to: stored.edits_visible_to,
            message_ttl_secs: stored.message_ttl_secs,
            member_count: stored.member_count,
            staff: stored.staff,
            fan_out: stored.fan_out.into(),
            pins: stored.pins.into_iter().map(Pin::from).collect(),
            invites: stored.invites.into_iter().map(Invite::from).collect(),
            bans: stored.bans.into_iter().map(|(user_id, by, at)| Ban { user_id, by, at }).collect(),
            mentions_of_all: stored.mentions_of_all.into_iter().map(mention).collect(),
            writers: stored.writers,
            deleted_at: stored.deleted_at,
        }
    }
}

impl From<FanOut> for StoredFanOut {
    fn from(fan_out: FanOut) -> Self {
        match fan_out {
            FanOut::OnWrite => Self::OnWrite,
            FanOut::OnRead => Self::OnRead,
        }
    }
}

impl From<StoredFanOut> for FanOut {
    fn from(stored: StoredFanOut) -> Self {
        match stored {
            StoredFanOut::OnWrite => Self::OnWrite,
            StoredFanOut::OnRead => Self::OnRead,
        }
    }
}

impl From<Pin> for StoredPin {
    fn from(Pin { message_id, seq, by, at }: Pin) -> Self {
        Self { message_id, seq, by, at }
    }
}

impl From<StoredPin> for Pin {
    fn from(StoredPin { message_id, seq, by, at }: StoredPin) -> Self {
        Self { message_id, seq, by, at }
    }
}

impl From<&Invite> for StoredInvite {
    fn from(invite: &Invite) -> Self {
        let Invite { id, token, client_id, created_by, created_at, expires_at, uses_max, uses } =
            invite.clone();
        let token = token.as_str().into();
        let client_id = client_id.map(|client_id| client_id.as_str().into());
        Self { id, token, client_id, created_by, created_at, expires_at, uses_max, uses }
    }
}

impl From<StoredInvite> for Invite {
    fn from(stored: StoredInvite) -> Self {
        let StoredInvite { id, token, client_id, created_by, created_at, expires_at, uses_max, uses } =
            stored;
        let token = InviteToken::from_stored(token);
        let client_id = client_id.map(ClientId::from_stored);
        Self { id, token, client_id, created_by, created_at, expires_at, uses_max, uses }
    }
}

impl From<DetailsChange> for StoredDetailsChange {
    fn from(change: DetailsChange) -> Self {
        let DetailsChange {
            name,
            description,
            image,
            permissions,
            history,
            edits_visible_to,
            message_ttl_secs,
        } = change;
        Self { name, description, image, permissions, history, edits_visible_to, message_ttl_secs }
    }
}

impl From<StoredDetailsChange> for DetailsChange {
    fn from(stored: StoredDetailsChange) -> Self {
        let StoredDetailsChange {
            name,
            description,
            image,
            permissions,
            history,
            edits_visible_to,
            message_ttl_secs,
        } = stored;
        Self { name, description, image, permissions, history, edits_visible_to, message_ttl_secs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{from_json, to_json};

    #[test]
    fn a_change_tells_what_stays_from_what_goes() {
        let change = DetailsChange {
            name: Some("Birds".into()),
            description: Some(None),
            message_ttl_secs: Some(Some(60)),
            ..DetailsChange::default()
        };
        let text = to_json(&StoredDetailsChange::from(change.clone()));
        assert_eq!(text, r#"{"name":"Birds","description":null,"message_ttl_secs":60}"#);
        let stored: StoredDetailsChange = from_json("test", String::new, &text).unwrap();
        assert_eq!(DetailsChange::from(stored), change);
    }
}
