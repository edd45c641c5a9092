//! Details of conversations, and changes of details.

use godwit_domain::model::{Ban, Details, DetailsChange, FanOut, Invite, MentionOfAll, Pin};
use godwit_protocol::conversations::{EditsVisibleTo, HistoryVisibility, Permissions, Role};
use godwit_protocol::{InviteId, MessageId, Seq, Timestamp, UserId};
use godwit_records::records;
use serde::{Deserialize, Deserializer};

records! {
    pub(crate) struct StoredDetails for Details {
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
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bans: Vec<StoredBan>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        mentions_of_all: Vec<StoredMentionOfAll>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        writers: Vec<UserId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deleted_at: Option<Timestamp>,
    }

    #[serde(rename_all = "snake_case")]
    pub(crate) enum StoredFanOut for FanOut { OnWrite, OnRead }

    struct StoredPin for Pin {
        message_id: MessageId,
        seq: Seq,
        by: UserId,
        at: Timestamp,
    }

    pub(crate) struct StoredInvite for Invite {
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

    struct StoredBan for Ban (user_id: UserId, by: UserId, at: Timestamp);

    struct StoredMentionOfAll for MentionOfAll (seq: Seq, by: UserId);

    /// A missing field stays as it is; null removes the value.
    pub(crate) struct StoredDetailsChange for DetailsChange {
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
}

fn changed<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
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
        let text = to_json(&StoredDetailsChange::from(&change));
        assert_eq!(text, r#"{"name":"Birds","description":null,"message_ttl_secs":60}"#);
        let stored: StoredDetailsChange = from_json("test", String::new, &text).unwrap();
        assert_eq!(DetailsChange::from(stored), change);
    }
}
