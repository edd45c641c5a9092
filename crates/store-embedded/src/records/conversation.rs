//! Conversations, members and cursors.

use godwit_domain::model::{Concealed, Conversation, Cursor, Head, Kind, LastMessage, Member, UserPair};
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::words::{MessageKindRecord, RoleRecord};
use super::{Record, corrupt};
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
    Group,
    Channel,
}

impl Record for ConversationRecord {
    const TABLE: &'static str = "conversations";
}

impl From<&Conversation> for ConversationRecord {
    fn from(conversation: &Conversation) -> Self {
        let kind = match conversation.kind {
            Kind::Direct(pair) => KindRecord::Direct { low: pair.low(), high: pair.high() },
            Kind::Group => KindRecord::Group,
            Kind::Channel => KindRecord::Channel,
        };
        Self { kind, created_by: conversation.created_by, created_at: conversation.created_at }
    }
}

impl ConversationRecord {
    pub(crate) fn into_conversation(self, id: ConversationId) -> Result<Conversation, StoreError> {
        let kind = match self.kind {
            KindRecord::Direct { low, high } => Kind::Direct(
                UserPair::new(low, high)
                    .ok_or_else(|| corrupt::<Self>(&keys::conversation(id).bytes, "a pair of one user"))?,
            ),
            KindRecord::Group => Kind::Group,
            KindRecord::Channel => Kind::Channel,
        };
        Ok(Conversation { id, kind, created_by: self.created_by, created_at: self.created_at })
    }
}

/// The conversation of a pair, of the key with which it was made, or of an invite.
#[derive(Serialize, Deserialize)]
pub(crate) struct ConversationIdRecord(pub(crate) ConversationId);

impl Record for ConversationIdRecord {
    const TABLE: &'static str = "pairs, keys and invites";
}

#[derive(Serialize, Deserialize)]
pub(crate) struct HeadRecord {
    pub(crate) seq: Seq,
    id: u64,
    ordinal: u64,
    last_message: Option<LastMessageRecord>,
    pub(crate) standing: Standing,
}

/// The position of a conversation in the inboxes of its members, see `inbox/order.rs`.
#[derive(Debug, Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The time of the newest message, or of the creation of the conversation: the sort key of the inbox.
    pub(crate) activity_at: Timestamp,
    /// Set while the conversation is hot: the time at which the members' rows are, instead of `activity_at`.
    pub(crate) ordered_at: Option<Timestamp>,
    /// The position of the members' rows in the order of change, see `inbox/changes.rs`; 1970 if they have
    /// none.
    pub(crate) changed_at: Timestamp,
    /// Whether some members may not have the conversation in their inbox. The next entry that is shown lists it
    /// for them.
    pub(crate) has_unlisted: bool,
}

#[derive(Serialize, Deserialize)]
struct LastMessageRecord {
    id: MessageId,
    seq: Seq,
    sender_id: UserId,
    kind: MessageKindRecord,
    event: Option<Box<str>>,
    preview: Box<str>,
    gone: bool,
    expires_at: Option<Timestamp>,
}

impl Record for HeadRecord {
    const TABLE: &'static str = "heads";
}

impl HeadRecord {
    pub(crate) fn new(head: Head, standing: Standing) -> Self {
        let last_message = head.last_message.map(|message| LastMessageRecord {
            id: message.id,
            seq: message.seq,
            sender_id: message.sender_id,
            kind: message.kind.into(),
            event: message.event,
            preview: message.preview,
            gone: message.gone,
            expires_at: message.expires_at,
        });
        Self { seq: head.seq, id: head.id, ordinal: head.ordinal, last_message, standing }
    }

    /// The newest entry that is shown.
    pub(crate) fn last_shown(&self) -> Option<Seq> {
        self.last_message.as_ref().map(|message| message.seq)
    }

    pub(crate) fn into_head(self) -> Head {
        let last_message = self.last_message.map(|message| LastMessage {
            id: message.id,
            seq: message.seq,
            sender_id: message.sender_id,
            kind: message.kind.into(),
            event: message.event,
            preview: message.preview,
            gone: message.gone,
            expires_at: message.expires_at,
        });
        Head { seq: self.seq, id: self.id, ordinal: self.ordinal, last_message }
    }
}

impl Standing {
    /// The standing of a conversation that is in no inbox yet.
    pub(crate) const fn new(activity_at: Timestamp) -> Self {
        Self { activity_at, ordered_at: None, changed_at: Timestamp::from_millis(0), has_unlisted: false }
    }

    pub(crate) const fn is_hot(&self) -> bool {
        self.ordered_at.is_some()
    }

    /// The position of the members' rows.
    pub(crate) fn rows_at(&self) -> Timestamp {
        self.ordered_at.unwrap_or(self.activity_at)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct MemberRecord {
    role: RoleRecord,
    joined_at: Timestamp,
    added_by: Option<UserId>,
    visible_from: Seq,
    pub(crate) unlisted: bool,
    mentions: Vec<Seq>,
}

impl Record for MemberRecord {
    const TABLE: &'static str = "members";
}

impl From<Member> for MemberRecord {
    fn from(member: Member) -> Self {
        Self {
            role: member.role.into(),
            joined_at: member.joined_at,
            added_by: member.added_by,
            visible_from: member.visible_from,
            unlisted: member.unlisted,
            mentions: member.mentions,
        }
    }
}

impl MemberRecord {
    pub(crate) fn into_member(self, user_id: UserId, cursor: Option<CursorRecord>) -> Member {
        let (cursor, moved_at) = cursor.map_or_else(Default::default, CursorRecord::into_cursor);
        Member {
            user_id,
            role: self.role.into(),
            joined_at: self.joined_at,
            added_by: self.added_by,
            visible_from: self.visible_from,
            unlisted: self.unlisted,
            cursor,
            concealed: Concealed::default(),
            moved_at,
            mentions: self.mentions,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct CursorRecord {
    delivered: Seq,
    read: Seq,
    read_ordinal: u64,
    moved_at: Timestamp,
}

impl Record for CursorRecord {
    const TABLE: &'static str = "cursors";
}

impl CursorRecord {
    pub(crate) const fn new(cursor: Cursor, moved_at: Timestamp) -> Self {
        let Cursor { delivered, read, read_ordinal } = cursor;
        Self { delivered, read, read_ordinal, moved_at }
    }

    /// The cursor, and the time when it last moved.
    pub(crate) const fn into_cursor(self) -> (Cursor, Timestamp) {
        let Self { delivered, read, read_ordinal, moved_at } = self;
        (Cursor { delivered, read, read_ordinal }, moved_at)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ConcealedRecord {
    cleared: Seq,
    cleared_ordinal: u64,
    hidden_to: Seq,
}

impl Record for ConcealedRecord {
    const TABLE: &'static str = "concealed";
}

impl From<Concealed> for ConcealedRecord {
    fn from(concealed: Concealed) -> Self {
        let Concealed { cleared, cleared_ordinal, hidden_to } = concealed;
        Self { cleared, cleared_ordinal, hidden_to }
    }
}

impl From<ConcealedRecord> for Concealed {
    fn from(record: ConcealedRecord) -> Self {
        let ConcealedRecord { cleared, cleared_ordinal, hidden_to } = record;
        Self { cleared, cleared_ordinal, hidden_to }
    }
}

/// The time when a mark of a cursor reached the seq in the key.
#[derive(Serialize, Deserialize)]
pub(crate) struct MoveRecord(pub(crate) Timestamp);

impl Record for MoveRecord {
    const TABLE: &'static str = "cursor moves";
}
