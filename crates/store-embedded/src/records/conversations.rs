//! Conversations, members, cursors and the inbox.

use godwit_domain::model::{Conversation, Cursor, Head, Kind, LastMessage, Member, Settings, UserPair};
use godwit_domain::ports::StoreError;
use godwit_protocol::conversations::Role;
use godwit_protocol::messages::MessageKind;
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::Record;
use crate::keys;

#[derive(Serialize, Deserialize)]
pub(crate) struct ConversationRecord {
    kind: KindRecord,
    created_by: UserId,
    created_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
enum KindRecord {
    Direct { low: UserId, high: UserId },
}

impl Record for ConversationRecord {
    const TABLE: &'static str = "conversations";
}

impl From<&Conversation> for ConversationRecord {
    fn from(conversation: &Conversation) -> Self {
        let kind = match conversation.kind {
            Kind::Direct(pair) => KindRecord::Direct { low: pair.low(), high: pair.high() },
        };
        Self { kind, created_by: conversation.created_by, created_at: conversation.created_at }
    }
}

impl ConversationRecord {
    pub(crate) fn into_conversation(self, id: ConversationId) -> Result<Conversation, StoreError> {
        let kind = match self.kind {
            KindRecord::Direct { low, high } => Kind::Direct(UserPair::new(low, high).ok_or_else(|| {
                let key = keys::display(&keys::conversation(id).bytes);
                StoreError::Corrupt { table: Self::TABLE, key, reason: "a pair of one user".into() }
            })?),
        };
        Ok(Conversation { id, kind, created_by: self.created_by, created_at: self.created_at })
    }
}

/// The direct conversation of a pair.
#[derive(Serialize, Deserialize)]
pub(crate) struct PairRecord(pub(crate) ConversationId);

impl Record for PairRecord {
    const TABLE: &'static str = "pairs";
}

#[derive(Serialize, Deserialize)]
pub(crate) struct HeadRecord {
    pub(crate) seq: Seq,
    id: u64,
    ordinal: u64,
    last_message: Option<LastMessageRecord>,
    /// When the newest message was sent, or the conversation made: what the inbox is ordered by.
    pub(crate) activity_at: Timestamp,
    /// Where the members' rows of the inbox stand, if that is not `activity_at`: the conversation is hot, see `order.rs`.
    pub(crate) ordered_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
struct LastMessageRecord {
    id: MessageId,
    seq: Seq,
    sender_id: UserId,
    kind: MessageKindRecord,
    preview: Box<str>,
}

#[derive(Serialize, Deserialize)]
enum MessageKindRecord {
    Text,
    Image,
    File,
    Voice,
    System,
}

impl Record for HeadRecord {
    const TABLE: &'static str = "heads";
}

impl HeadRecord {
    pub(crate) fn new(head: Head, activity_at: Timestamp, ordered_at: Option<Timestamp>) -> Self {
        let last_message = head.last_message.map(|message| LastMessageRecord {
            id: message.id,
            seq: message.seq,
            sender_id: message.sender_id,
            kind: match message.kind {
                MessageKind::Text => MessageKindRecord::Text,
                MessageKind::Image => MessageKindRecord::Image,
                MessageKind::File => MessageKindRecord::File,
                MessageKind::Voice => MessageKindRecord::Voice,
                MessageKind::System => MessageKindRecord::System,
            },
            preview: message.preview,
        });
        Self { seq: head.seq, id: head.id, ordinal: head.ordinal, last_message, activity_at, ordered_at }
    }

    pub(crate) fn into_head(self) -> Head {
        let last_message = self.last_message.map(|message| LastMessage {
            id: message.id,
            seq: message.seq,
            sender_id: message.sender_id,
            kind: match message.kind {
                MessageKindRecord::Text => MessageKind::Text,
                MessageKindRecord::Image => MessageKind::Image,
                MessageKindRecord::File => MessageKind::File,
                MessageKindRecord::Voice => MessageKind::Voice,
                MessageKindRecord::System => MessageKind::System,
            },
            preview: message.preview,
        });
        Head { seq: self.seq, id: self.id, ordinal: self.ordinal, last_message }
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct MemberRecord {
    role: RoleRecord,
    joined_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
enum RoleRecord {
    Owner,
    Admin,
    Member,
}

impl Record for MemberRecord {
    const TABLE: &'static str = "members";
}

impl MemberRecord {
    pub(crate) fn new(role: Role, joined_at: Timestamp) -> Self {
        let role = match role {
            Role::Owner => RoleRecord::Owner,
            Role::Admin => RoleRecord::Admin,
            Role::Member => RoleRecord::Member,
        };
        Self { role, joined_at }
    }

    pub(crate) fn into_member(self, user_id: UserId, cursor: Cursor) -> Member {
        let role = match self.role {
            RoleRecord::Owner => Role::Owner,
            RoleRecord::Admin => Role::Admin,
            RoleRecord::Member => Role::Member,
        };
        Member { user_id, role, joined_at: self.joined_at, cursor }
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct CursorRecord {
    delivered: Seq,
    read: Seq,
    read_ordinal: u64,
}

impl Record for CursorRecord {
    const TABLE: &'static str = "cursors";
}

impl From<Cursor> for CursorRecord {
    fn from(cursor: Cursor) -> Self {
        Self { delivered: cursor.delivered, read: cursor.read, read_ordinal: cursor.read_ordinal }
    }
}

impl From<CursorRecord> for Cursor {
    fn from(record: CursorRecord) -> Self {
        Self { delivered: record.delivered, read: record.read, read_ordinal: record.read_ordinal }
    }
}

/// When a mark of a cursor came to where its key says.
#[derive(Serialize, Deserialize)]
pub(crate) struct MoveRecord(pub(crate) Timestamp);

impl Record for MoveRecord {
    const TABLE: &'static str = "cursor moves";
}

/// What a member has of a conversation in the inbox.
#[derive(Serialize, Deserialize, Default, Clone, Copy)]
pub(crate) struct ListingRecord {
    /// Whether the conversation is in the inbox.
    pub(crate) is_listed: bool,
    pinned: bool,
    archived: bool,
    muted_until: Option<Timestamp>,
}

impl Record for ListingRecord {
    const TABLE: &'static str = "listings";
}

impl ListingRecord {
    pub(crate) const fn new(is_listed: bool, settings: Settings) -> Self {
        let Settings { pinned, archived, muted_until } = settings;
        Self { is_listed, pinned, archived, muted_until }
    }

    pub(crate) const fn settings(&self) -> Settings {
        Settings { pinned: self.pinned, archived: self.archived, muted_until: self.muted_until }
    }
}

/// The hot conversations of a user.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct HotRecord(pub(crate) Vec<ConversationId>);

impl Record for HotRecord {
    const TABLE: &'static str = "hot conversations";
}

/// What a row of the inbox shows beyond its key.
#[derive(Serialize, Deserialize, Clone, Copy)]
pub(crate) struct OrderRecord {
    pub(crate) muted_until: Option<Timestamp>,
}

impl Record for OrderRecord {
    const TABLE: &'static str = "order";
}
