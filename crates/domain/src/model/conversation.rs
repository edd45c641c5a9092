//! Conversations: the head of the log, the members and their cursors.

use std::sync::Arc;

use godwit_protocol::conversations::{self as wire, ConversationKind, Role};
use godwit_protocol::messages::{MessageKind, MessageStatus};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::details::{Details, FanOut};
use super::entry::{Change, Entry};
use super::message::preview_of;
use super::message_state::LogItem;
use super::settings::Settings;

/// The properties of a conversation that never change.
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
    Group,
    Channel,
}

/// Two different users. The lower id comes first, so that each pair has one representation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserPair {
    low: UserId,
    high: UserId,
}

/// The state of a conversation that sending, listing and permission checks need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationState {
    pub conversation: Conversation,
    pub details: Arc<Details>,
    pub head: Head,
    /// Sorted by id. All members if the conversation is fanned out on write. Empty if it is fanned out on read: there are
    /// too many, and each one is loaded when needed.
    pub members: Vec<Member>,
}

/// The end of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The `seq` of the newest entry.
    pub seq: Seq,
    /// The Snowflake id of the newest entry, which contains its time. The next entry has a higher one.
    pub id: u64,
    /// The number of messages in the log.
    pub ordinal: u64,
    /// The newest entry that the history shows.
    pub last_message: Option<LastMessage>,
}

/// The parts of the newest message that a list shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastMessage {
    pub id: MessageId,
    pub seq: Seq,
    pub sender_id: UserId,
    pub kind: MessageKind,
    /// The event, if this is a notice.
    pub event: Option<Box<str>>,
    pub preview: Box<str>,
    pub gone: bool,
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub user_id: UserId,
    pub role: Role,
    pub joined_at: Timestamp,
    /// The user who added this member. `None` for members who joined by themselves.
    pub added_by: Option<UserId>,
    /// The first entry that the member sees.
    pub visible_from: Seq,
    /// The inbox does not list the conversation until a new entry is shown in it.
    pub unlisted: bool,
    pub cursor: Cursor,
    pub concealed: Concealed,
    /// When the cursor last moved; 1970 if it never moved.
    pub moved_at: Timestamp,
    /// The latest messages that mention the member, the oldest first. Read ones may be missing.
    pub mentions: Vec<Seq>,
}

/// What a user has deleted only for themselves. It only grows, and it outlives the membership: a user who leaves and returns
/// does not see it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Concealed {
    /// Everything up to this entry.
    pub cleared: Seq,
    /// The number of messages in the log up to `cleared`.
    pub cleared_ordinal: u64,
    /// The last message that was hidden individually. The store has the list of hidden messages.
    pub hidden_to: Seq,
}

impl Concealed {
    /// Everything up to an entry, with the number of messages up to there.
    pub fn clearing(cleared: Seq, cleared_ordinal: u64) -> Self {
        Self { cleared, cleared_ordinal, ..Self::default() }
    }

    /// One message that was hidden individually.
    pub fn hiding(hidden_to: Seq) -> Self {
        Self { hidden_to, ..Self::default() }
    }
}

/// How far a member has received and read. Cursors only move forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cursor {
    pub delivered: Seq,
    pub read: Seq,
    /// The number of messages in the log up to `read`, so that the unread count is a subtraction.
    pub read_ordinal: u64,
}

impl Conversation {
    pub const fn wire_kind(&self) -> ConversationKind {
        match self.kind {
            Kind::Direct(_) => ConversationKind::Direct,
            Kind::Group => ConversationKind::Group,
            Kind::Channel => ConversationKind::Channel,
        }
    }
}

impl Kind {
    /// The pair of a direct conversation.
    pub const fn pair(self) -> Option<UserPair> {
        match self {
            Self::Direct(pair) => Some(pair),
            Self::Group | Self::Channel => None,
        }
    }

    pub const fn is_direct(self) -> bool {
        matches!(self, Self::Direct(_))
    }
}

impl UserPair {
    /// `None` if both are the same user.
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
    /// True if `members` has all members.
    pub fn is_whole(&self) -> bool {
        self.details.fan_out == FanOut::OnWrite
    }

    /// A member, if `members` has them.
    pub fn member(&self, user: UserId) -> Option<&Member> {
        self.position(user).ok().map(|i| &self.members[i])
    }

    pub fn member_mut(&mut self, user: UserId) -> Option<&mut Member> {
        self.position(user).ok().map(|i| &mut self.members[i])
    }

    /// Adds a member, or replaces the stored one.
    pub fn put_member(&mut self, member: Member) {
        match self.position(member.user_id) {
            Ok(i) => self.members[i] = member,
            Err(i) => self.members.insert(i, member),
        }
    }

    pub fn remove_member(&mut self, user: UserId) {
        if let Ok(i) = self.position(user) {
            self.members.remove(i);
        }
    }

    pub fn member_ids(&self) -> Vec<UserId> {
        self.members.iter().map(|m| m.user_id).collect()
    }

    /// The number of messages after the read mark and after the last clearing. It is computed rather than counted, so it
    /// cannot drift. It includes messages that the member has hidden individually: see
    /// [`Sight::unread`](crate::sight::Sight::unread).
    pub fn unread(&self, member: &Member) -> u64 {
        let seen = member.cursor.read_ordinal.max(member.concealed.cleared_ordinal);
        self.head.ordinal.saturating_sub(seen)
    }

    /// The unread messages that mention a member, the oldest first.
    pub fn unread_mentions(&self, member: &Member) -> Vec<Seq> {
        let own = member.mentions.iter().copied();
        let of_all = self.details.mentions_of_all.iter();
        let of_all = of_all.filter(|mention| mention.by != member.user_id).map(|mention| mention.seq);
        let from = member.history_from();
        let mut unread: Vec<Seq> =
            own.chain(of_all).filter(|seq| *seq > member.cursor.read && *seq >= from).collect();
        unread.sort_unstable();
        unread.dedup();
        unread
    }

    /// The status of a message: the minimum over the other members. In a conversation that is fanned out on read it is not
    /// tracked.
    pub fn status(&self, seq: Seq, sender: UserId) -> MessageStatus {
        let others = self.members.iter().filter(|m| m.user_id != sender);
        others.map(|m| m.cursor.status(seq)).min().unwrap_or(MessageStatus::Sent)
    }

    /// When the newest message was sent or, if there is none, the conversation was created.
    pub fn last_activity_at(&self) -> Timestamp {
        self.head.activity_at().unwrap_or(self.conversation.created_at)
    }

    fn position(&self, user: UserId) -> Result<usize, usize> {
        self.members.binary_search_by_key(&user, |m| m.user_id)
    }
}

impl Head {
    /// Moves the head to this entry.
    pub fn advance(&mut self, entry: &Entry) {
        let last = &mut self.last_message;
        match &entry.change {
            Change::Edited { target, text: Some(text), .. } => {
                if let Some(last) = last.as_mut().filter(|last| last.seq == target.seq) {
                    last.preview = preview_of(text);
                }
            }
            Change::Deleted { .. } | Change::Expired { .. } => {
                let is_target = |last: &&mut LastMessage| {
                    entry.change.targets().iter().any(|target| target.seq == last.seq)
                };
                if let Some(last) = last.as_mut().filter(is_target) {
                    last.erase();
                }
            }
            _ => {
                if let Some(shown) = LastMessage::of(entry) {
                    *last = Some(shown);
                }
            }
        }
        (self.seq, self.id, self.ordinal) = (entry.seq, entry.id, entry.ordinal);
    }

    /// The head of a log with no entries.
    pub const fn empty() -> Self {
        Self { seq: Seq::ZERO, id: 0, ordinal: 0, last_message: None }
    }

    /// When the newest entry was made.
    pub fn at(&self) -> Timestamp {
        MessageId::new(self.id).timestamp()
    }

    /// The entry that was last shown.
    pub fn last_shown(&self) -> Option<Seq> {
        self.last_message.as_ref().map(|last| last.seq)
    }

    pub fn activity_at(&self) -> Option<Timestamp> {
        self.last_message.as_ref().map(|m| m.id.timestamp())
    }
}

impl LastMessage {
    /// The parts of an entry that a list shows. `None` if the entry is not shown.
    fn of(entry: &Entry) -> Option<Self> {
        let blank = Self {
            id: MessageId::new(entry.id),
            seq: entry.seq,
            sender_id: entry.change.by().unwrap_or(UserId::new(0)),
            kind: MessageKind::System,
            event: entry.change.event().map(Into::into),
            preview: Box::default(),
            gone: false,
            expires_at: None,
        };
        match &entry.change {
            Change::Message(message) => Some(Self {
                kind: message.body.kind(),
                event: message.body.event().map(Into::into),
                preview: message.body.preview(),
                expires_at: message.expires_at,
                ..blank
            }),
            _ => entry.shown.then_some(blank),
        }
    }

    /// Like `of`, with the state of the message.
    pub fn of_item(item: &LogItem) -> Option<Self> {
        let mut last = Self::of(&item.entry)?;
        if let Some(edited) = &item.state.edited {
            last.preview = preview_of(&edited.text);
        }
        if item.state.gone.is_some() {
            last.erase();
        }
        Some(last)
    }

    /// Removes the content.
    pub fn erase(&mut self) {
        self.gone = true;
        self.event = None;
        self.preview = Box::default();
    }
}

impl Member {
    /// Moves the marks forward that are behind `cursor`.
    pub fn move_to(&mut self, cursor: Cursor, at: Timestamp) {
        let after = self.cursor.advanced_by(cursor);
        if after != self.cursor {
            (self.cursor, self.moved_at) = (after, self.moved_at.max(at));
        }
    }

    /// Applies a move that another node or the store has reported. The store may date a known move later.
    pub fn hear_of_move(&mut self, cursor: Cursor, at: Timestamp) {
        self.move_to(cursor, at);
        self.moved_at = self.moved_at.max(at);
    }

    pub const fn wire_cursor(&self) -> wire::MemberCursor {
        wire::MemberCursor { user_id: self.user_id, delivered: self.cursor.delivered, read: self.cursor.read }
    }

    /// The first entry that the member sees, given where their history begins and what they have cleared.
    pub fn history_from(&self) -> Seq {
        let Concealed { cleared, .. } = self.concealed;
        self.visible_from.max(if cleared == Seq::ZERO { Seq::ZERO } else { cleared.next() })
    }

    pub fn to_wire(&self, settings: &Settings) -> wire::Membership {
        wire::Membership {
            role: self.role,
            joined_at: self.joined_at,
            delivered: self.cursor.delivered,
            read: self.cursor.read,
            pinned: settings.pin.is_some(),
            pin_place: settings.pin,
            archived: settings.archived,
            muted_until: settings.muted_until,
            marked_unread: settings.marked_unread,
            history_from: self.history_from(),
            draft: settings.draft.as_deref().map(super::SavedDraft::to_wire),
        }
    }
}

impl Concealed {
    /// The maximum of each field.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let (cleared, cleared_ordinal) =
            (self.cleared, self.cleared_ordinal).max((other.cleared, other.cleared_ordinal));
        Self { cleared, cleared_ordinal, hidden_to: self.hidden_to.max(other.hidden_to) }
    }
}

impl Cursor {
    /// A cursor that has read, and so received, everything up to an entry.
    pub const fn at(seq: Seq, ordinal: u64) -> Self {
        Self { delivered: seq, read: seq, read_ordinal: ordinal }
    }

    /// The maximum of each mark.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::details::{MentionOfAll, default_permissions};

    fn member(id: u64, delivered: u64, read: u64) -> Member {
        Member {
            user_id: UserId::new(id),
            role: Role::Member,
            joined_at: Timestamp::from_millis(0),
            added_by: None,
            visible_from: Seq::ZERO,
            unlisted: false,
            cursor: Cursor { delivered: Seq::new(delivered), read: Seq::new(read), read_ordinal: read },
            concealed: Concealed::default(),
            moved_at: Timestamp::from_millis(0),
            mentions: Vec::new(),
        }
    }

    fn state(members: Vec<Member>) -> ConversationState {
        let created_at = Timestamp::from_millis(0);
        ConversationState {
            conversation: Conversation {
                id: ConversationId::new(9),
                kind: Kind::Group,
                created_by: UserId::new(1),
                created_at,
            },
            details: Arc::new(Details::new(created_at, default_permissions(true))),
            head: Head { seq: Seq::new(6), id: 1, ordinal: 6, last_message: None },
            members,
        }
    }

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
        let state = state(vec![member(1, 6, 6), member(2, 5, 4), member(3, 6, 3)]);
        let sender = UserId::new(1);
        assert_eq!(state.status(Seq::new(3), sender), MessageStatus::Read);
        assert_eq!(state.status(Seq::new(4), sender), MessageStatus::Delivered);
        assert_eq!(state.status(Seq::new(6), sender), MessageStatus::Sent);
        assert_eq!(state.unread(&state.members[2]), 3);
    }

    #[test]
    fn mentions_count_once_and_only_while_they_are_unread_and_seen() {
        let seqs = |seqs: &[u64]| seqs.iter().copied().map(Seq::new).collect::<Vec<_>>();
        let mut ada = member(1, 3, 3);
        ada.mentions = seqs(&[2, 4, 5]);
        let mut state = state(vec![ada.clone()]);
        assert_eq!(state.unread_mentions(&ada).len(), 2);
        let by = |seq, by| MentionOfAll { seq: Seq::new(seq), by: UserId::new(by) };
        Arc::make_mut(&mut state.details).mentions_of_all = vec![by(3, 2), by(5, 2), by(6, 2), by(7, 1)];
        assert_eq!(state.unread_mentions(&ada).len(), 3, "5 counts once, and 7 is her own");
        ada.visible_from = Seq::new(6);
        assert_eq!(state.unread_mentions(&ada).len(), 1);
    }
}
