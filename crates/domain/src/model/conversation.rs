//! Conversations: the log, its head, the members and their cursors.

use godwit_protocol::conversations::{self as wire, ConversationKind, Role};
use godwit_protocol::messages::{self, MessageKind, MessageStatus};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

use super::message::Message;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    pub id: ConversationId,
    pub kind: Kind,
    pub created_by: UserId,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Direct(UserPair),
}

/// Two different users, the lower id first, so that a pair has one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserPair {
    low: UserId,
    high: UserId,
}

/// Everything about a conversation that sending, listing and checking need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationState {
    pub conversation: Conversation,
    pub head: Head,
    /// In the order of their ids.
    pub members: Vec<Member>,
}

/// Where the log ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Of the newest entry.
    pub seq: Seq,
    /// Of the newest entry: the Snowflake from which its time is read. The next one is higher.
    pub id: u64,
    /// How many messages the log has.
    pub ordinal: u64,
    pub last_message: Option<LastMessage>,
}

/// What a list shows of the newest message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastMessage {
    pub id: MessageId,
    pub seq: Seq,
    pub sender_id: UserId,
    pub kind: MessageKind,
    pub preview: Box<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    pub user_id: UserId,
    pub role: Role,
    pub joined_at: Timestamp,
    pub cursor: Cursor,
}

/// How far a member has come. Cursors only move forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    pub delivered: Seq,
    pub read: Seq,
    /// How many messages the log has up to `read`, so that unread is a subtraction.
    pub read_ordinal: u64,
}

/// What a member has set for themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    pub pinned: bool,
    pub archived: bool,
    pub muted_until: Option<Timestamp>,
}

/// What to change of the settings; `None` stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SettingsChange {
    pub pinned: Option<bool>,
    pub archived: Option<bool>,
    pub muted_until: Option<Option<Timestamp>>,
}

/// One change in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub seq: Seq,
    /// A Snowflake, higher than that of the entry before. In a message it is the message's id.
    pub id: u64,
    /// How many messages the log has up to this entry, it included.
    pub ordinal: u64,
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Created { by: UserId, kind: ConversationKind, member_ids: Vec<UserId> },
    Message(Message),
}

impl Conversation {
    pub const fn wire_kind(&self) -> ConversationKind {
        match self.kind {
            Kind::Direct(_) => ConversationKind::Direct,
        }
    }
}

impl UserPair {
    /// None for a user and themselves.
    pub fn new(a: UserId, b: UserId) -> Option<Self> {
        (a != b).then(|| Self { low: a.min(b), high: a.max(b) })
    }

    pub const fn low(self) -> UserId {
        self.low
    }

    pub const fn high(self) -> UserId {
        self.high
    }

    pub fn other(self, user: UserId) -> UserId {
        if user == self.low { self.high } else { self.low }
    }
}

impl ConversationState {
    pub fn member(&self, user: UserId) -> Option<&Member> {
        self.position(user).map(|i| &self.members[i])
    }

    pub fn member_mut(&mut self, user: UserId) -> Option<&mut Member> {
        self.position(user).map(|i| &mut self.members[i])
    }

    pub fn member_ids(&self) -> Vec<UserId> {
        self.members.iter().map(|m| m.user_id).collect()
    }

    /// Unread messages of a member, computed rather than counted, so that it cannot drift.
    pub fn unread(&self, user: UserId) -> u64 {
        self.member(user).map_or(0, |m| self.head.ordinal.saturating_sub(m.cursor.read_ordinal))
    }

    /// How far a message has come: the least of what the other members have reached.
    pub fn status(&self, seq: Seq, sender: UserId) -> MessageStatus {
        let others = self.members.iter().filter(|m| m.user_id != sender);
        others.map(|m| m.cursor.status(seq)).min().unwrap_or(MessageStatus::Sent)
    }

    /// When something was last said, or the conversation made.
    pub fn last_activity_at(&self) -> Timestamp {
        self.head.activity_at().unwrap_or(self.conversation.created_at)
    }

    /// The cursors as the wire has them.
    pub fn wire_cursors(&self) -> Vec<wire::MemberCursor> {
        self.members.iter().map(Member::wire_cursor).collect()
    }

    fn position(&self, user: UserId) -> Option<usize> {
        self.members.binary_search_by_key(&user, |m| m.user_id).ok()
    }
}

impl Head {
    /// The head after this entry.
    pub fn after(&self, entry: &Entry) -> Self {
        let last_message = match &entry.change {
            Change::Message(message) => Some(LastMessage {
                id: message.id,
                seq: entry.seq,
                sender_id: message.sender_id,
                kind: message.body.kind(),
                preview: message.body.preview(),
            }),
            Change::Created { .. } => self.last_message.clone(),
        };
        Self { seq: entry.seq, id: entry.id, ordinal: entry.ordinal, last_message }
    }

    /// The head of a log with no entries.
    pub const fn empty() -> Self {
        Self { seq: Seq::ZERO, id: 0, ordinal: 0, last_message: None }
    }

    /// When the newest message was sent.
    pub fn activity_at(&self) -> Option<Timestamp> {
        self.last_message.as_ref().map(|m| m.id.timestamp())
    }
}

impl Member {
    pub const fn wire_cursor(&self) -> wire::MemberCursor {
        wire::MemberCursor { user_id: self.user_id, delivered: self.cursor.delivered, read: self.cursor.read }
    }

    pub const fn to_wire(&self, settings: Settings) -> wire::Membership {
        wire::Membership {
            role: self.role,
            joined_at: self.joined_at,
            pinned: settings.pinned,
            archived: settings.archived,
            muted_until: settings.muted_until,
        }
    }
}

impl Cursor {
    /// Read up to an entry, which implies that it was delivered.
    pub const fn at(seq: Seq, ordinal: u64) -> Self {
        Self { delivered: seq, read: seq, read_ordinal: ordinal }
    }

    /// The further of the two in each mark.
    #[must_use]
    pub fn advanced_by(self, other: Self) -> Self {
        let (read, read_ordinal) = (self.read, self.read_ordinal).max((other.read, other.read_ordinal));
        Self { delivered: self.delivered.max(other.delivered).max(read), read, read_ordinal }
    }

    pub fn status(self, seq: Seq) -> MessageStatus {
        if self.read >= seq {
            MessageStatus::Read
        } else if self.delivered >= seq {
            MessageStatus::Delivered
        } else {
            MessageStatus::Sent
        }
    }
}

impl Settings {
    #[must_use]
    pub fn changed_by(self, change: SettingsChange) -> Self {
        Self {
            pinned: change.pinned.unwrap_or(self.pinned),
            archived: change.archived.unwrap_or(self.archived),
            muted_until: change.muted_until.unwrap_or(self.muted_until),
        }
    }
}

impl Entry {
    pub const fn at(&self) -> Timestamp {
        MessageId::new(self.id).timestamp()
    }

    pub const fn message(&self) -> Option<&Message> {
        match &self.change {
            Change::Message(message) => Some(message),
            Change::Created { .. } => None,
        }
    }

    /// Content, in bytes.
    pub fn size_bytes(&self) -> usize {
        self.message().map_or(0, |message| message.body.size_bytes())
    }

    /// The entry as the wire has it; the status of a message is what `state` says.
    pub fn to_wire(&self, state: &ConversationState) -> messages::LogEntry {
        let change = match &self.change {
            Change::Created { by, kind, member_ids } => {
                messages::Change::Created { by: *by, kind: *kind, member_ids: member_ids.clone() }
            }
            Change::Message(message) => {
                messages::Change::Message { message: Box::new(message.to_wire(self.seq, state)) }
            }
        };
        messages::LogEntry { seq: self.seq, at: self.at(), change }
    }
}

impl Message {
    pub fn to_wire(&self, seq: Seq, state: &ConversationState) -> messages::Message {
        messages::Message {
            id: self.id,
            conversation_id: state.conversation.id,
            seq,
            sender_id: self.sender_id,
            client_id: self.client_id.as_str().to_owned(),
            kind: self.body.kind(),
            text: self.body.text().map(str::to_owned),
            media: self.body.media().map(super::Media::to_wire),
            event: self.body.event().map(str::to_owned),
            reply_to: self.reply_to,
            forwarded_from: self
                .forwarded_from
                .map(|f| messages::Forwarded { message_id: f.message_id, sender_id: f.sender_id }),
            created_at: self.id.timestamp(),
            status: state.status(seq, self.sender_id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_one_form_and_two_users() {
        let (a, b) = (UserId::new(7), UserId::new(3));
        assert_eq!(UserPair::new(a, b), UserPair::new(b, a));
        assert_eq!(UserPair::new(a, a), None);
        assert_eq!(UserPair::new(a, b).unwrap().other(a), b);
    }

    #[test]
    fn cursors_only_move_forward_and_reading_implies_delivery() {
        let cursor = Cursor { delivered: Seq::new(5), read: Seq::new(3), read_ordinal: 2 };
        assert_eq!(cursor.advanced_by(Cursor::default()), cursor);
        let read = cursor.advanced_by(Cursor { delivered: Seq::ZERO, read: Seq::new(9), read_ordinal: 7 });
        assert_eq!(read, Cursor { delivered: Seq::new(9), read: Seq::new(9), read_ordinal: 7 });
    }

    #[test]
    fn a_message_is_read_when_all_others_have_read_it() {
        let member = |id, delivered, read| Member {
            user_id: UserId::new(id),
            role: Role::Member,
            joined_at: Timestamp::from_millis(0),
            cursor: Cursor { delivered: Seq::new(delivered), read: Seq::new(read), read_ordinal: read },
        };
        let pair = UserPair::new(UserId::new(1), UserId::new(2)).unwrap();
        let state = ConversationState {
            conversation: Conversation {
                id: ConversationId::new(9),
                kind: Kind::Direct(pair),
                created_by: UserId::new(1),
                created_at: Timestamp::from_millis(0),
            },
            head: Head { seq: Seq::new(6), id: 1, ordinal: 6, last_message: None },
            members: vec![member(1, 6, 6), member(2, 5, 4), member(3, 6, 3)],
        };
        let sender = UserId::new(1);
        assert_eq!(state.status(Seq::new(3), sender), MessageStatus::Read);
        assert_eq!(state.status(Seq::new(4), sender), MessageStatus::Delivered);
        assert_eq!(state.status(Seq::new(6), sender), MessageStatus::Sent);
        assert_eq!(state.unread(UserId::new(3)), 3);
        assert_eq!(state.unread(UserId::new(99)), 0);
    }
}
