//! Details of conversations.

use godwit_domain::model::{
    Ban, ClientId, Details, DetailsChange, FanOut, Invite, InviteToken, MentionOfAll, Pin,
};
use godwit_protocol::conversations::Permissions;
use godwit_protocol::{InviteId, MessageId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::Record;
use super::words::{EditsRecord, FanOutRecord, HistoryRecord, RoleRecord};

#[derive(Serialize, Deserialize)]
pub(crate) struct DetailsRecord {
    through: Seq,
    updated_at: Timestamp,
    name: Box<str>,
    description: Option<Box<str>>,
    image: Option<Box<str>>,
    permissions: PermissionsRecord,
    history: HistoryRecord,
    edits_visible_to: EditsRecord,
    message_ttl_secs: Option<u32>,
    member_count: u32,
    staff: Vec<(UserId, RoleRecord)>,
    fan_out: FanOutRecord,
    pins: Vec<PinRecord>,
    invites: Vec<InviteRecord>,
    bans: Vec<(UserId, UserId, Timestamp)>,
    mentions_of_all: Vec<(Seq, UserId)>,
    writers: Vec<UserId>,
    deleted_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
struct PinRecord {
    message_id: MessageId,
    seq: Seq,
    by: UserId,
    at: Timestamp,
}

impl Record for DetailsRecord {
    const TABLE: &'static str = "details";
}

impl DetailsRecord {
    pub(crate) fn fan_out(&self) -> FanOut {
        self.fan_out.into()
    }
}

impl From<&Details> for DetailsRecord {
    fn from(details: &Details) -> Self {
        let pin = |pin: &Pin| PinRecord { message_id: pin.message_id, seq: pin.seq, by: pin.by, at: pin.at };
        Self {
            through: details.through,
            updated_at: details.updated_at,
            name: details.name.clone(),
            description: details.description.clone(),
            image: details.image.clone(),
            permissions: details.permissions.into(),
            history: details.history.into(),
            edits_visible_to: details.edits_visible_to.into(),
            message_ttl_secs: details.message_ttl_secs,
            member_count: details.member_count,
            staff: details.staff.iter().map(|(user, role)| (*user, (*role).into())).collect(),
            fan_out: details.fan_out.into(),
            pins: details.pins.iter().map(pin).collect(),
            invites: details.invites.iter().cloned().map(InviteRecord::from).collect(),
            bans: details.bans.iter().map(|ban| (ban.user_id, ban.by, ban.at)).collect(),
            mentions_of_all: details
                .mentions_of_all
                .iter()
                .map(|mention| (mention.seq, mention.by))
                .collect(),
            writers: details.writers.clone(),
            deleted_at: details.deleted_at,
        }
    }
}

impl From<DetailsRecord> for Details {
    fn from(record: DetailsRecord) -> Self {
        let pin = |pin: PinRecord| Pin { message_id: pin.message_id, seq: pin.seq, by: pin.by, at: pin.at };
        Self {
            through: record.through,
            updated_at: record.updated_at,
            name: record.name,
            description: record.description,
            image: record.image,
            permissions: record.permissions.into(),
            history: record.history.into(),
            edits_visible_to: record.edits_visible_to.into(),
            message_ttl_secs: record.message_ttl_secs,
            member_count: record.member_count,
            staff: record.staff.into_iter().map(|(user, role)| (user, role.into())).collect(),
            fan_out: record.fan_out.into(),
            pins: record.pins.into_iter().map(pin).collect(),
            invites: record.invites.into_iter().map(Invite::from).collect(),
            bans: record.bans.into_iter().map(|(user_id, by, at)| Ban { user_id, by, at }).collect(),
            mentions_of_all: record
                .mentions_of_all
                .into_iter()
                .map(|(seq, by)| MentionOfAll { seq, by })
                .collect(),
            writers: record.writers,
            deleted_at: record.deleted_at,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct PermissionsRecord {
    anyone_may_join: bool,
    members_may_send: bool,
    members_may_add_members: bool,
    members_may_edit: bool,
}

impl From<Permissions> for PermissionsRecord {
    fn from(permissions: Permissions) -> Self {
        let Permissions { anyone_may_join, members_may_send, members_may_add_members, members_may_edit } =
            permissions;
        Self { anyone_may_join, members_may_send, members_may_add_members, members_may_edit }
    }
}

impl From<PermissionsRecord> for Permissions {
    fn from(record: PermissionsRecord) -> Self {
        let PermissionsRecord {
            anyone_may_join,
            members_may_send,
            members_may_add_members,
            members_may_edit,
        } = record;
        Self { anyone_may_join, members_may_send, members_may_add_members, members_may_edit }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct InviteRecord {
    id: InviteId,
    token: Box<str>,
    client_id: Option<Box<str>>,
    created_by: UserId,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    uses_max: Option<u32>,
    uses: u32,
}

impl From<Invite> for InviteRecord {
    fn from(invite: Invite) -> Self {
        Self {
            id: invite.id,
            token: invite.token.as_str().into(),
            client_id: invite.client_id.map(|client_id| client_id.as_str().into()),
            created_by: invite.created_by,
            created_at: invite.created_at,
            expires_at: invite.expires_at,
            uses_max: invite.uses_max,
            uses: invite.uses,
        }
    }
}

impl From<InviteRecord> for Invite {
    fn from(record: InviteRecord) -> Self {
        Self {
            id: record.id,
            token: InviteToken::from_stored(record.token),
            client_id: record.client_id.map(ClientId::from_stored),
            created_by: record.created_by,
            created_at: record.created_at,
            expires_at: record.expires_at,
            uses_max: record.uses_max,
            uses: record.uses,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct DetailsChangeRecord {
    name: Option<Box<str>>,
    description: Option<Option<Box<str>>>,
    image: Option<Option<Box<str>>>,
    permissions: Option<PermissionsRecord>,
    history: Option<HistoryRecord>,
    edits_visible_to: Option<EditsRecord>,
    message_ttl_secs: Option<Option<u32>>,
}

impl From<DetailsChange> for DetailsChangeRecord {
    fn from(change: DetailsChange) -> Self {
        Self {
            name: change.name,
            description: change.description,
            image: change.image,
            permissions: change.permissions.map(Into::into),
            history: change.history.map(Into::into),
            edits_visible_to: change.edits_visible_to.map(Into::into),
            message_ttl_secs: change.message_ttl_secs,
        }
    }
}

impl From<DetailsChangeRecord> for DetailsChange {
    fn from(record: DetailsChangeRecord) -> Self {
        Self {
            name: record.name,
            description: record.description,
            image: record.image,
            permissions: record.permissions.map(Into::into),
            history: record.history.map(Into::into),
            edits_visible_to: record.edits_visible_to.map(Into::into),
            message_ttl_secs: record.message_ttl_secs,
        }
    }
}
