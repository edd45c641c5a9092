//! Details of conversations.

use godwit_domain::model::{Ban, Details, DetailsChange, FanOut, Invite, MentionOfAll, Pin};
use godwit_protocol::conversations::Permissions;
use godwit_protocol::{InviteId, MessageId, Seq, Timestamp, UserId};
use godwit_records::records;

use super::words::{EditsRecord, FanOutRecord, HistoryRecord, RoleRecord};

records! {
    pub(crate) struct DetailsRecord for Details {
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
        bans: Vec<BanRecord>,
        mentions_of_all: Vec<MentionOfAllRecord>,
        writers: Vec<UserId>,
        deleted_at: Option<Timestamp>,
    }

    struct PinRecord for Pin {
        message_id: MessageId,
        seq: Seq,
        by: UserId,
        at: Timestamp,
    }

    pub(super) struct InviteRecord for Invite {
        id: InviteId,
        token: Box<str>,
        client_id: Option<Box<str>>,
        created_by: UserId,
        created_at: Timestamp,
        expires_at: Option<Timestamp>,
        uses_max: Option<u32>,
        uses: u32,
    }

    struct BanRecord for Ban {
        user_id: UserId,
        by: UserId,
        at: Timestamp,
    }

    struct MentionOfAllRecord for MentionOfAll {
        seq: Seq,
        by: UserId,
    }

    pub(super) struct PermissionsRecord for Permissions {
        anyone_may_join: bool,
        members_may_send: bool,
        members_may_add_members: bool,
        members_may_edit: bool,
    }

    pub(super) struct DetailsChangeRecord for DetailsChange {
        name: Option<Box<str>>,
        description: Option<Option<Box<str>>>,
        image: Option<Option<Box<str>>>,
        permissions: Option<PermissionsRecord>,
        history: Option<HistoryRecord>,
        edits_visible_to: Option<EditsRecord>,
        message_ttl_secs: Option<Option<u32>>,
    }
}

impl DetailsRecord {
    pub(crate) fn fan_out(&self) -> FanOut {
        self.fan_out.into()
    }
}
