//! The row of a membership.

use godwit_domain::model::{SavedDraft, Settings};
use godwit_protocol::{MessageId, Seq, Timestamp};
use godwit_records::{Stored, records};
use serde::{Deserialize, Serialize};

use super::super::{InboxPosition, Membership, Section};
use crate::records::is_false;

/// The settings are not a record of their own, because fields that serde flattens are slow to read.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::account) struct MembershipBody {
    revision: u64,
    #[serde(default)]
    listed: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    apart: bool,
    #[serde(default)]
    through: Seq,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pin: Option<i64>,
    #[serde(default, skip_serializing_if = "is_false")]
    archived: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    muted: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "is_false")]
    unread: bool,
    #[serde(default)]
    cleared: Seq,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    draft: Option<Box<DraftBody>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<PlaceBody>,
}

records! {
    #[derive(Debug)]
    struct DraftBody for SavedDraft {
        text: Box<str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<MessageId>,
        #[serde(rename = "updated")]
        updated_at: Timestamp,
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct PlaceBody {
    section: u8,
    at: i64,
    version: u64,
}

impl From<&Membership> for MembershipBody {
    fn from(membership: &Membership) -> Self {
        let place = |place: InboxPosition| PlaceBody {
            section: place.section.0,
            at: place.at.as_millis(),
            version: place.version,
        };
        let Settings { pin, archived, muted_until, marked_unread, cleared, draft } = &membership.settings;
        Self {
            revision: membership.revision,
            listed: membership.listed,
            apart: membership.apart,
            through: membership.through,
            pin: *pin,
            archived: *archived,
            muted: *muted_until,
            unread: *marked_unread,
            cleared: *cleared,
            draft: Stored::of(draft),
            place: membership.place.map(place),
        }
    }
}

impl From<MembershipBody> for Membership {
    fn from(body: MembershipBody) -> Self {
        let place = |place: PlaceBody| InboxPosition {
            section: Section(place.section),
            at: Timestamp::from_millis(place.at),
            version: place.version,
        };
        Self {
            listed: body.listed,
            apart: body.apart,
            settings: Settings {
                pin: body.pin,
                archived: body.archived,
                muted_until: body.muted,
                marked_unread: body.unread,
                cleared: body.cleared,
                draft: body.draft.restore(),
            },
            place: body.place.map(place),
            revision: body.revision,
            through: body.through,
        }
    }
}
