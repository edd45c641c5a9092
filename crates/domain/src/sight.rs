//! Visibility: what a user may see. Every path that shows an entry, a message, a count or a mark asks this module: history,
//! log, live frames, answers to retries, quotes, previews, lists, `sync`, pins, stars, threads and receipts.

use std::collections::HashSet;

use godwit_protocol::conversations::MemberCursor;
use godwit_protocol::limits::{MENTIONS_COUNTED_MAX, PAGE_MAX};
use godwit_protocol::messages::MessageStatus;
use godwit_protocol::{ConversationId, Seq, UserId};

use crate::model::{ConversationState, Kind, LogItem, Member};
use crate::ports::{HistoryEnd, SeqRange, Store, StoreError};

/// Page size of the search for the newest entry that is not hidden.
const LOOKED_THROUGH_FIRST: usize = 50;
/// Page size once a whole page was hidden: a user who has hidden much must not cost a read for every few messages.
const LOOKED_THROUGH_NEXT: usize = PAGE_MAX as usize;

/// The entries of a conversation that one member sees now.
#[derive(Debug, Clone, Default)]
pub struct Sight {
    /// The first entry that the member sees.
    from: Seq,
    /// Entries that the member has hidden, within the range that was loaded.
    hidden: HashSet<Seq>,
}

impl Sight {
    /// The sight of a viewer who sees everything.
    pub(crate) fn whole() -> Self {
        Self::default()
    }

    /// The sight of a viewer who cannot see one entry.
    pub(crate) fn without(seq: Seq) -> Self {
        Self { from: Seq::ZERO, hidden: HashSet::from([seq]) }
    }

    /// The sight of a member, for the entries in `asked` and all entries between them. Reads the store only if the member
    /// may have hidden one of them.
    pub(crate) async fn of(
        store: &dyn Store,
        conversation: ConversationId,
        member: &Member,
        asked: impl IntoIterator<Item = Seq>,
    ) -> Result<Self, StoreError> {
        let from = member.history_from();
        let span = asked.into_iter().fold(None, |span: Option<(Seq, Seq)>, seq| {
            Some(span.map_or((seq, seq), |(first, last)| (first.min(seq), last.max(seq))))
        });
        let span = span.map(|(first, last)| (first.max(from), last.min(member.concealed.hidden_to)));
        let Some((first, last)) = span.filter(|(first, last)| first <= last) else {
            return Ok(Self { from, hidden: HashSet::new() });
        };
        let range = SeqRange { after: Seq::new(first.get().saturating_sub(1)), before: last.next() };
        let hidden = store.hidden(member.user_id, conversation, range).await?;
        Ok(Self { from, hidden: hidden.into_iter().collect() })
    }

    pub(crate) fn sees(&self, seq: Seq) -> bool {
        seq >= self.from && !self.hidden.contains(&seq)
    }

    /// The entries to pass to [`of`](Self::of) before unread messages can be counted.
    pub(crate) fn unread_span(member: &Member) -> impl Iterator<Item = Seq> + use<> {
        let (first, last) = (member.cursor.read.next(), member.concealed.hidden_to);
        [first, last].into_iter().filter(move |_| first <= last)
    }

    /// The number of messages that the member sees and has not read. Messages that were deleted for all count, because their
    /// place is shown.
    pub(crate) fn unread(&self, state: &ConversationState, member: &Member) -> u64 {
        let is_unread = |seq: &&Seq| **seq > member.cursor.read && **seq >= self.from;
        let hidden = self.hidden.iter().filter(is_unread).count() as u64;
        state.unread(member).saturating_sub(hidden)
    }

    /// The number of unread messages that mention the member, up to [`MENTIONS_COUNTED_MAX`].
    pub(crate) fn unread_mentions(&self, state: &ConversationState, member: &Member) -> u32 {
        let seen = state.unread_mentions(member).into_iter().filter(|seq| self.sees(*seq)).count();
        seen.min(MENTIONS_COUNTED_MAX) as u32
    }
}

/// The newest shown entry before `before` that the member sees.
pub(crate) async fn newest_seen(
    store: &dyn Store,
    conversation: ConversationId,
    member: &Member,
    before: Seq,
) -> Result<Option<LogItem>, StoreError> {
    let from = member.history_from();
    if before <= from {
        return Ok(None);
    }
    let after = Seq::new(from.get().saturating_sub(1));
    let mut range = SeqRange { after, before };
    let mut limit = LOOKED_THROUGH_FIRST;
    loop {
        let found = store.history(conversation, range, HistoryEnd::Newest, limit).await?;
        let is_last = found.len() < limit;
        let sight = Sight::of(store, conversation, member, found.iter().map(|item| item.entry.seq)).await?;
        range.before = found.first().map_or(range.before, |first| first.entry.seq);
        let seen = found.into_iter().rfind(|item| sight.sees(item.entry.seq));
        if seen.is_some() || is_last {
            return Ok(seen);
        }
        limit = LOOKED_THROUGH_NEXT;
    }
}

/// Whose delivery and read marks one viewer may see.
#[derive(Debug, Clone, Default)]
pub struct Discretion {
    /// All read marks are hidden: one of the two people has switched read receipts off.
    reading_of_nobody: bool,
    /// All marks are hidden: one of the two people has blocked the other.
    nothing: bool,
    /// Users who have blocked the viewer. All their marks are hidden.
    blockers: HashSet<UserId>,
}

impl Discretion {
    /// In a direct conversation, the settings and blocks of both users decide. In a group, the viewer sees the marks of
    /// everyone except the users who have blocked the viewer. `members` are the users whose marks, or whose part in a
    /// status, are shown; a direct conversation ignores it.
    pub(crate) async fn of(
        store: &dyn Store,
        viewer: UserId,
        kind: Kind,
        members: impl IntoIterator<Item = UserId>,
    ) -> Result<Self, StoreError> {
        if let Some(pair) = kind.pair() {
            let asked = [pair.low(), pair.high()];
            let (users, blocked) =
                tokio::try_join!(store.users(&asked), store.is_blocked(pair.low(), pair.high()))?;
            return Ok(Self::of_two(users.iter().all(|user| user.read_receipts), blocked));
        }
        let others: Vec<UserId> = members.into_iter().filter(|member| *member != viewer).collect();
        let blockers =
            if others.is_empty() { Vec::new() } else { store.blockers_among(viewer, &others).await? };
        Ok(Self { blockers: blockers.into_iter().collect(), ..Self::default() })
    }

    /// For a direct conversation: whether both users share read receipts, and whether one has blocked the other.
    pub(crate) fn of_two(both_tell: bool, blocked: bool) -> Self {
        Self { reading_of_nobody: !both_tell, nothing: blocked, blockers: HashSet::new() }
    }

    /// Hides the read marks of every member.
    pub(crate) fn of_nobody() -> Self {
        Self { reading_of_nobody: true, ..Self::default() }
    }

    /// True if all marks of the user are hidden. Delivery marks are hidden too, because they reveal when the user is online.
    pub(crate) fn hides(&self, user: UserId) -> bool {
        self.nothing || self.blockers.contains(&user)
    }

    pub(crate) fn hides_reading_of(&self, user: UserId) -> bool {
        self.reading_of_nobody || self.hides(user)
    }

    /// The cursor of a member, as far as `viewer` may see it.
    pub(crate) fn cursor(&self, viewer: UserId, member: &Member) -> Option<MemberCursor> {
        let (user, cursor) = (member.user_id, member.wire_cursor());
        if user == viewer || !self.hides_reading_of(user) {
            Some(cursor)
        } else {
            (!self.hides(user)).then(|| unread_cursor(cursor))
        }
    }

    /// The status of a message, as far as the viewer may see it. READ by all would reveal that each member has read the
    /// message, so it becomes DELIVERED if the read marks of one member are hidden. DELIVERED is shown: it reveals little
    /// about each member, and a message that stays SENT would reveal a block.
    pub(crate) fn status(&self, status: MessageStatus) -> MessageStatus {
        let is_told = !self.reading_of_nobody && !self.nothing && self.blockers.is_empty();
        if is_told { status } else { status.min(MessageStatus::Delivered) }
    }

    /// The status of a message for one member, as far as the viewer may see it.
    pub(crate) fn status_for(&self, user: UserId, status: MessageStatus) -> MessageStatus {
        let told = if self.hides(user) {
            MessageStatus::Sent
        } else if self.hides_reading_of(user) {
            MessageStatus::Delivered
        } else {
            MessageStatus::Read
        };
        status.min(told)
    }
}

/// The cursor of a member whose read mark is hidden.
pub(crate) const fn unread_cursor(cursor: MemberCursor) -> MemberCursor {
    MemberCursor { read: Seq::ZERO, ..cursor }
}
