//! Conversations, members and cursors.

use godwit_domain::model::{Concealed, Conversation, Cursor, Head, Kind, LastMessage, Member, UserPair};
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use godwit_records::records;
use serde::{Deserialize, Serialize};

use super::corrupt;
use super::words::{MessageKindRecord, RoleRecord};
use crate::keys;

records! {
    struct HeadPart for Head {
        seq: Seq,
        id: u64,
        ordinal: u64,
        last_message: Option<LastMessageRecord>,
    }

    struct LastMessageRecord for LastMessage {
        id: MessageId,
        seq: Seq,
        sender_id: UserId,
        kind: MessageKindRecord,
        event: Option<Box<str>>,
        preview: Box<str>,
        gone: bool,
        expires_at: Option<Timestamp>,
    }

    pub(crate) struct MemberRecord for Member,
    with_cursor(user_id: UserId, cursor: Cursor, moved_at: Timestamp, concealed: Concealed) {
        role: RoleRecord,
        joined_at: Timestamp,
        added_by: Option<UserId>,
        visible_from: Seq,
        pub(crate) unlisted: bool,
        mentions: Vec<Seq>,
    }

    struct CursorPart for Cursor {
        delivered: Seq,
        read: Seq,
        read_ordinal: u64,
    }

    pub(crate) struct ConcealedRecord for Concealed {
        cleared: Seq,
        cleared_ordinal: u64,
        hidden_to: Seq,
    }
}

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

#[derive(Serialize, Deserialize)]
pub(crate) struct HeadRecord {
    head: HeadPart,
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

impl HeadRecord {
    pub(crate) fn new(head: &Head, standing: Standing) -> Self {
        Self { head: head.into(), standing }
    }

    pub(crate) const fn seq(&self) -> Seq {
        self.head.seq
    }

    /// The newest entry that is shown.
    pub(crate) fn last_shown(&self) -> Option<Seq> {
        self.head.last_message.as_ref().map(|message| message.seq)
    }

    pub(crate) fn into_head(self) -> Head {
        self.head.into()
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
pub(crate) struct CursorRecord {
    cursor: CursorPart,
    moved_at: Timestamp,
}

impl CursorRecord {
    pub(crate) fn new(cursor: Cursor, moved_at: Timestamp) -> Self {
        Self { cursor: (&cursor).into(), moved_at }
    }

    /// The cursor, and the time when it last moved.
    pub(crate) fn into_cursor(self) -> (Cursor, Timestamp) {
        (self.cursor.into(), self.moved_at)
    }
}

impl MemberRecord {
    pub(crate) fn into_member(self, user_id: UserId, cursor: Option<CursorRecord>) -> Member {
        let (cursor, moved_at) = cursor.map_or_else(Default::default, CursorRecord::into_cursor);
        self.with_cursor(user_id, cursor, moved_at, Concealed::default())
    }
}

/// The time when a mark of a cursor reached the seq in the key.
#[derive(Serialize, Deserialize)]
pub(crate) struct MoveRecord(pub(crate) Timestamp);
