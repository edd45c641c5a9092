//! The inbox: opening, listing and setting conversations.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use godwit_protocol::conversations::{
    Conversation as WireConversation, LastMessage as WireLastMessage, MemberCursor, Membership, NewDraft,
    UpdateMembership,
};
use godwit_protocol::limits::{ACCOUNT_LOG_ENTRIES_MAX, DRAFT_CHARS_MAX, PINNED_CONVERSATIONS_MAX};
use godwit_protocol::messages::MessageStatus;
use godwit_protocol::sync::{Gone, GoneList, GoneReason};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use thiserror::Error;

use crate::account_log::AccountLog;
use crate::bounds::cut;
use crate::concealing::Concealing;
use crate::conversations::{AccessError, Conversations, Live};
use crate::model::{
    AccountChange, AccountNote, Concealed, ConversationState, Created, InvalidField, Kind, LastMessage,
    Member, SavedDraft, Settings, SettingsChange, User, UserPair, field,
};
use crate::ports::{ActivityPosition, ChangedRow, Clock, InboxRow, Store, StoreError, UnorderedRow};
use crate::projection::beginning;
use crate::sight::{Discretion, Sight, newest_seen};

/// Entries of the account log that are looked through at once for conversations that went away.
const GONE_PAGE: usize = 500;

#[derive(Debug)]
pub struct Inbox {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) concealing: Arc<Concealing>,
    pub(crate) clock: Arc<dyn Clock>,
}

#[derive(Debug, Error)]
pub enum InboxError {
    #[error("no such conversation")]
    NotFound,
    #[error("no such user")]
    NoSuchUser,
    #[error("a conversation needs another user")]
    NotWithSelf,
    #[error("one of you has blocked the other")]
    Blocked,
    #[error("no more conversations can be pinned")]
    TooManyPinned,
    #[error(transparent)]
    Invalid(#[from] InvalidField),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AccessError> for InboxError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::NotFound => Self::NotFound,
            AccessError::Store(error) => Self::Store(error),
        }
    }
}

/// Where a page of the inbox ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxPosition {
    /// After so many of the pinned ones.
    Pinned(u32),
    Ordered(ActivityPosition),
}

/// A conversation that was found or made.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    pub conversation: WireConversation,
    pub made: bool,
}

impl Inbox {
    /// Finds the direct conversation with another user, or makes it. One that exists is found also where one has blocked
    /// the other: its history stays readable.
    pub async fn open_direct(&self, by: UserId, other: UserId) -> Result<Opened, InboxError> {
        let pair = UserPair::new(by, other).ok_or(InboxError::NotWithSelf)?;
        let (id, made) = match self.store.direct_of(pair).await? {
            Some(id) => (id, false),
            None => self.make_direct(by, other, pair).await?,
        };
        Ok(Opened { conversation: self.conversation(by, id).await?, made })
    }

    pub async fn conversation(&self, by: UserId, id: ConversationId) -> Result<WireConversation, InboxError> {
        let (live, member) = self.conversations.of_member(by, id).await?;
        let settings = self.store.settings(by, id).await?;
        let shown =
            self.complete(by, vec![Listed { live, member, settings, opened: true }], Marks::All).await?;
        shown.into_iter().next().ok_or(InboxError::NotFound)
    }

    /// One page, and where the next one begins. The pinned ones come before all others, whatever the limit is.
    pub async fn page(
        &self,
        by: UserId,
        archived: bool,
        after: Option<InboxPosition>,
        limit: usize,
    ) -> Result<(Vec<WireConversation>, Option<InboxPosition>), InboxError> {
        let (pinned_before, after) = match after {
            None => (Some(0), None),
            Some(InboxPosition::Pinned(before)) => (Some(before), None),
            Some(InboxPosition::Ordered(after)) => (None, Some(after)),
        };
        let (ordered, large) =
            tokio::try_join!(self.store.inbox(by, archived, after, limit), self.large_rows(by))?;
        let mut rows = ordered;
        let is_asked = |row: &&InboxRow| {
            row.settings.archived == archived
                && row.settings.pin.is_none()
                && after.is_none_or(|after| row.activity() < after)
        };
        rows.extend(large.iter().filter(is_asked).cloned());
        let rows = in_order(rows, limit, InboxRow::activity);
        let mut next =
            rows.last().filter(|_| rows.len() == limit).map(|row| InboxPosition::Ordered(row.activity()));
        let mut places = Vec::new();
        if let Some(before) = pinned_before.filter(|_| !archived) {
            let mut pinned = self.store.pinned(by).await?;
            pinned.extend(large.into_iter().filter(|row| row.settings.pin.is_some()));
            pinned.retain(|row| !row.settings.archived);
            pinned.sort_by_key(|row| (row.settings.pin, Reverse(row.activity())));
            pinned.dedup_by_key(|row| row.conversation);
            let pinned = pinned.into_iter().zip(1..).skip(before as usize);
            places.extend(pinned.map(|(row, number)| (row, InboxPosition::Pinned(number))));
        }
        places.extend(
            rows.into_iter()
                .map(|row| (row.activity(), row))
                .map(|(at, row)| (row, InboxPosition::Ordered(at))),
        );
        let rows = places.iter().map(|(row, _)| (row.conversation, row.settings.clone())).collect();
        let mut shown = self.show(by, rows, Marks::None).await?;
        if cut(&mut shown) {
            let last = shown.last().map(|last| last.id);
            let place = places.iter().find(|(row, _)| Some(row.conversation) == last);
            next = place.map(|(_, place)| *place).or(next);
        }
        Ok((shown, next))
    }

    /// Conversations in which anything changed at or after a time, the latest first; those after `after`.
    pub(crate) async fn changed_since(
        &self,
        by: UserId,
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<ChangedRow>, StoreError> {
        let changed_at = |state: &ConversationState| {
            state.last_activity_at().max(MessageId::new(state.head.id).timestamp())
        };
        let (mut rows, large) = tokio::try_join!(
            self.store.changed_since(by, floor, after, limit),
            self.large_listed(by, changed_at)
        )?;
        let large = large.into_iter().map(|(row, changed_at)| {
            let UnorderedRow { conversation, settings } = row;
            ChangedRow { conversation, settings, changed_at }
        });
        let is_asked =
            |row: &ChangedRow| row.changed_at >= floor && after.is_none_or(|after| row.position() < after);
        rows.extend(large.filter(is_asked));
        Ok(in_order(rows, limit, ChangedRow::position))
    }

    async fn large_rows(&self, by: UserId) -> Result<Vec<InboxRow>, StoreError> {
        let listed = self.large_listed(by, ConversationState::last_activity_at).await?;
        let row = |(row, activity_at): (UnorderedRow, Timestamp)| {
            let UnorderedRow { conversation, settings } = row;
            InboxRow { conversation, settings, activity_at }
        };
        Ok(listed.into_iter().map(row).collect())
    }

    /// The large conversations of a user that are in their inbox, with a time that they have now.
    async fn large_listed(
        &self,
        by: UserId,
        time: impl Fn(&ConversationState) -> Timestamp + Send,
    ) -> Result<Vec<(UnorderedRow, Timestamp)>, StoreError> {
        let found = self.conversations.large_of(by).await?;
        let listed = |(row, live): (UnorderedRow, Arc<Live>)| {
            let at = live.read(|state| {
                let settings = &row.settings;
                let last = state.head.last_message.as_ref().map(|last| last.seq);
                let is_listed =
                    settings.cleared == Seq::ZERO || last.is_some_and(|last| last > settings.cleared);
                let is_there = state.details.deleted_at.is_none() && !state.is_whole();
                (is_listed && is_there).then(|| time(state))
            });
            Some((row, at?))
        };
        Ok(found.into_iter().filter_map(listed).collect())
    }

    /// Pins, mutes, archives, marks as unread, keeps a draft.
    pub async fn update_membership(
        &self,
        by: UserId,
        id: ConversationId,
        update: UpdateMembership,
    ) -> Result<Membership, InboxError> {
        let (_, member) = self.conversations.of_member(by, id).await?;
        let now = self.clock.now();
        if let Some(Some(until)) = update.muted_until {
            field::future("muted_until", until, now)?;
        }
        if update.pinned == Some(true) && update.archived == Some(true) {
            return Err(InvalidField::new("archived", "is not for a pinned conversation").into());
        }
        let draft = update.draft.map(|draft| draft.as_ref().map(|draft| parse_draft(draft, now)).transpose());
        let pin = match update.pinned {
            Some(true) => Some(self.place_of_new_pin(by, id).await?),
            Some(false) => Some(None),
            // What is archived is not pinned.
            None => (update.archived == Some(true)).then_some(None),
        };
        let change = SettingsChange {
            pin,
            archived: if update.pinned == Some(true) { Some(false) } else { update.archived },
            muted_until: update.muted_until,
            marked_unread: update.marked_unread,
            draft: draft.transpose()?,
        };
        let settings = self.change_settings(by, id, change).await?;
        Ok(member.to_wire(&settings))
    }

    /// Puts the pinned conversations into this order. Those that are not named keep their order after them; those that are
    /// not pinned are passed over, because another device may just have unpinned them.
    pub async fn order_pinned(&self, by: UserId, order: &[ConversationId]) -> Result<(), InboxError> {
        if order.len() > PINNED_CONVERSATIONS_MAX {
            let reason = format!("must have at most {PINNED_CONVERSATIONS_MAX} conversations");
            return Err(InvalidField::new("conversation_ids", reason).into());
        }
        let mut pinned = self.pinned_places(by).await?;
        let place = |id: &ConversationId| order.iter().position(|named| named == id).unwrap_or(usize::MAX);
        pinned.sort_by_key(|(pin, id)| (place(id), *pin));
        for (number, (pin, id)) in pinned.into_iter().enumerate() {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            if pin != number {
                let change = SettingsChange { pin: Some(Some(number)), ..SettingsChange::default() };
                self.change_settings(by, id, change).await?;
            }
        }
        Ok(())
    }

    /// The member has read: the mark that they put on it is gone.
    pub(crate) async fn unmark(&self, by: UserId, id: ConversationId) -> Result<(), StoreError> {
        if self.store.settings(by, id).await?.marked_unread {
            let change = SettingsChange { marked_unread: Some(false), ..SettingsChange::default() };
            self.change_settings(by, id, change).await?;
        }
        Ok(())
    }

    /// Deletes a conversation for one member: what was said is out of their sight, and it comes back with the next
    /// message.
    pub async fn delete_for_me(&self, by: UserId, id: ConversationId) -> Result<(), InboxError> {
        let (live, _) = self.conversations.of_member(by, id).await?;
        self.conversations.reload(&live).await?;
        let (head, ordinal) = live.read(|state| (state.head.seq, state.head.ordinal));
        self.forget_settings(by, id).await?;
        let change = AccountChange::ConversationGone(id, GoneReason::Deleted);
        let note = AccountNote { user_id: by, at: self.clock.now(), change };
        let entry = self.store.clear(by, id, head, ordinal, note).await?;
        let concealed = Concealed { cleared: head, cleared_ordinal: ordinal, ..Concealed::default() };
        self.concealing.conceal(&live, by, concealed).await?;
        live.write(|state| {
            let is_new = state.head.last_message.as_ref().is_some_and(|last| last.seq > head);
            if let Some(member) = state.member_mut(by) {
                member.unlisted = !is_new;
            }
        });
        self.account_log.announce(&[(by, entry)]).await;
        Ok(())
    }

    /// One that was deleted for oneself comes back as a new one would: not pinned, archived or marked, and without a draft. It
    /// stays muted.
    async fn forget_settings(&self, by: UserId, id: ConversationId) -> Result<(), StoreError> {
        let settings = self.store.settings(by, id).await?;
        let change = SettingsChange {
            pin: settings.pin.is_some().then_some(None),
            archived: settings.archived.then_some(false),
            marked_unread: settings.marked_unread.then_some(false),
            draft: settings.draft.is_some().then_some(None),
            muted_until: None,
        };
        if change != SettingsChange::default() {
            self.change_settings(by, id, change).await?;
        }
        Ok(())
    }

    /// Conversations that went away since a time, and whether there may have been more.
    pub async fn gone_since(&self, by: UserId, since: Timestamp) -> Result<GoneList, StoreError> {
        let (mut gone, mut after) = (Vec::new(), 0);
        // The log is compacted: each conversation went away once at most.
        let mut truncated = false;
        loop {
            let Some(entries) = self.store.account_log(by, after, GONE_PAGE).await? else {
                // Older entries were dropped. The end of the log is always there to go on from.
                truncated = true;
                after = self.store.account_head(by).await?.saturating_sub(ACCOUNT_LOG_ENTRIES_MAX as u64 / 2);
                if self.store.account_log(by, after, 1).await?.is_none() {
                    break;
                }
                continue;
            };
            for entry in &entries {
                if let AccountChange::ConversationGone(conversation_id, reason) = entry.change
                    && entry.at >= since
                {
                    gone.push(Gone { conversation_id, reason, at: entry.at });
                }
            }
            match entries.last() {
                Some(last) if entries.len() == GONE_PAGE => after = last.seq,
                _ => break,
            }
        }
        self.add_deleted_large(by, since, &mut gone).await?;
        gone.sort_by_key(|gone| gone.at);
        let more = cut(&mut gone);
        Ok(GoneList { gone, more, truncated })
    }

    /// Large conversations that were deleted for all: their members are too many for a note in each account.
    pub(crate) async fn add_deleted_large(
        &self,
        by: UserId,
        since: Timestamp,
        gone: &mut Vec<Gone>,
    ) -> Result<(), StoreError> {
        for (row, live) in self.conversations.large_of(by).await? {
            if let Some(at) = live.read(|state| state.details.deleted_at).filter(|at| *at >= since) {
                gone.push(Gone { conversation_id: row.conversation, reason: GoneReason::Deleted, at });
            }
        }
        Ok(())
    }

    /// Rows of the store as their owner sees them.
    pub(crate) async fn show(
        &self,
        by: UserId,
        rows: Vec<(ConversationId, Settings)>,
        marks: Marks,
    ) -> Result<Vec<WireConversation>, StoreError> {
        let mut listed = Vec::with_capacity(rows.len());
        let found = self.conversations.get_all(rows.iter().map(|(id, _)| *id).collect()).await?;
        for ((conversation, settings), live) in rows.into_iter().zip(found) {
            let Some(live) = live else {
                tracing::error!(%conversation, "an inbox row without its conversation");
                continue;
            };
            // Who was removed a moment ago has no row a moment later.
            if let Some(member) = self.conversations.member(&live, by).await? {
                listed.push(Listed { live, member, settings, opened: marks != Marks::None });
            }
        }
        self.complete(by, listed, marks).await
    }

    pub(crate) async fn change_settings(
        &self,
        by: UserId,
        id: ConversationId,
        change: SettingsChange,
    ) -> Result<Settings, StoreError> {
        let note =
            AccountNote { user_id: by, at: self.clock.now(), change: AccountChange::SettingsChanged(id) };
        let (settings, entry) = self.store.change_settings(by, id, change, note).await?;
        self.account_log.announce(&[(by, entry)]).await;
        Ok(settings)
    }

    /// Before all others; where it is if it is pinned already.
    async fn place_of_new_pin(&self, by: UserId, id: ConversationId) -> Result<Option<i64>, InboxError> {
        let pinned = self.pinned_places(by).await?;
        if let Some((pin, _)) = pinned.iter().find(|(_, pinned)| *pinned == id) {
            return Ok(Some(*pin));
        }
        if pinned.len() >= PINNED_CONVERSATIONS_MAX {
            return Err(InboxError::TooManyPinned);
        }
        Ok(Some(pinned.iter().map(|(pin, _)| pin - 1).min().unwrap_or(0)))
    }

    async fn pinned_places(&self, by: UserId) -> Result<Vec<(i64, ConversationId)>, StoreError> {
        let (rows, large) = tokio::try_join!(self.store.pinned(by), self.store.fanned_out_on_read(by))?;
        let rows = rows.into_iter().map(|row| (row.settings.pin, row.conversation));
        let large = large.into_iter().map(|row| (row.settings.pin, row.conversation));
        Ok(rows.chain(large).filter_map(|(pin, id)| Some((pin?, id))).collect())
    }

    async fn make_direct(
        &self,
        by: UserId,
        other: UserId,
        pair: UserPair,
    ) -> Result<(ConversationId, bool), InboxError> {
        let peer = self.store.user(other).await?.filter(|user| user.disabled_at.is_none());
        if peer.is_none() {
            return Err(InboxError::NoSuchUser);
        }
        if self.store.is_blocked(by, other).await? {
            return Err(InboxError::Blocked);
        }
        let new = beginning(self.store.ids(), Kind::Direct(pair), Created::direct(by, pair))?;
        let opened = self.store.open_direct(pair, new).await?;
        if let Some(notes) = &opened.made {
            self.account_log.announce(notes).await;
        }
        Ok((opened.id, opened.made.is_some()))
    }

    /// With what else has to be known to show them.
    async fn complete(
        &self,
        by: UserId,
        listed: Vec<Listed>,
        marks: Marks,
    ) -> Result<Vec<WireConversation>, StoreError> {
        let peers: Vec<Option<UserId>> = listed
            .iter()
            .map(|row| row.live.read(|state| Some(state.conversation.kind.pair()?.other(by))))
            .collect();
        let mut seen = Vec::with_capacity(listed.len());
        for row in &listed {
            seen.push(self.seen(row).await?);
        }
        let senders = seen.iter().filter_map(|seen| seen.last.as_ref().map(|last| last.sender_id));
        // The own settings decide on receipts too.
        let mut asked: Vec<UserId> = peers.iter().flatten().copied().chain([by]).chain(senders).collect();
        asked.sort_unstable();
        asked.dedup();
        let users: HashMap<UserId, User> =
            self.store.users(&asked).await?.into_iter().map(|user| (user.id, user)).collect();
        let tells = |user: UserId| users.get(&user).is_none_or(|user| user.read_receipts);
        let now = self.clock.now();
        let mut shown = Vec::with_capacity(listed.len());
        for ((row, peer), seen) in listed.iter().zip(peers).zip(&seen) {
            let discretion = match peer {
                // Then there is nothing to be discreet about.
                _ if !seen.shows_reading => Discretion::default(),
                Some(peer) => {
                    let both_tell = tells(peer) && tells(by);
                    let blocked = both_tell && self.store.is_blocked(by, peer).await?;
                    Discretion::of_two(both_tell, blocked)
                }
                None => {
                    let (kind, members) =
                        row.live.read(|state| (state.conversation.kind, state.member_ids()));
                    Discretion::of(&*self.store, by, kind, members).await?
                }
            };
            let cursors = self.cursors(row, marks, &discretion).await?;
            // What changed may be a mark that the user must not know of.
            if !cursors.is_empty() || marks.lists_also_without(&row.live) {
                let described = describe(row, peer, &users, seen, &discretion, now);
                shown.push(WireConversation { cursors, ..described });
            }
        }
        Ok(shown)
    }

    /// The cursors that a member may know of, of those that are asked for. Of somebody who does not tell what they have read it
    /// is not told either that they have read something: only a mark that came to the last message by its delivery has moved.
    async fn cursors(
        &self,
        row: &Listed,
        marks: Marks,
        discretion: &Discretion,
    ) -> Result<Vec<MemberCursor>, StoreError> {
        let Listed { live, member, .. } = row;
        let (mut cursors, last) = live.read(|state| {
            let last = state.head.last_message.as_ref().map_or(Seq::ZERO, |last| last.seq);
            (shown_cursors(state, member, discretion, marks), last)
        });
        let Marks::MovedSince(since) = marks else { return Ok(cursors) };
        let is_discreet = |cursor: &MemberCursor| {
            cursor.user_id != member.user_id && discretion.hides_reading_of(cursor.user_id)
        };
        let discreet: Vec<UserId> =
            cursors.iter().filter(|cursor| is_discreet(cursor)).map(|cursor| cursor.user_id).collect();
        if !discreet.is_empty() {
            let times = self.store.receipts(live.id(), last, &discreet).await?;
            let received = times.into_iter().filter(|times| times.delivered_at.is_some_and(|at| at >= since));
            let received: HashSet<UserId> = received.map(|times| times.user_id).collect();
            cursors.retain(|cursor| !is_discreet(cursor) || received.contains(&cursor.user_id));
        }
        Ok(cursors)
    }

    /// What a member sees of a conversation in a list.
    async fn seen(&self, row: &Listed) -> Result<Seen, StoreError> {
        let Listed { live, member, .. } = row;
        let (mut last, pins) = live.read(|state| {
            let pins: Vec<Seq> = state.details.pins.iter().map(|pin| pin.seq).collect();
            (state.head.last_message.clone(), pins)
        });
        let asked = last.iter().map(|last| last.seq).chain(pins).chain(Sight::unread_span(member));
        let sight = Sight::of(&*self.store, live.id(), member, asked).await?;
        if let Some(hidden) = last.as_ref().filter(|last| !sight.sees(last.seq)) {
            let seen = newest_seen(&*self.store, live.id(), member, hidden.seq).await?;
            last = seen.as_ref().and_then(LastMessage::of_item);
        }
        let status = last.as_ref().map(|last| live.read(|state| state.status(last.seq, last.sender_id)));
        Ok(Seen { sight, last, shows_reading: row.opened || status == Some(MessageStatus::Read) })
    }
}

/// A conversation in somebody's inbox.
struct Listed {
    live: Arc<Live>,
    member: Member,
    settings: Settings,
    /// It is shown by itself, with the marks of its members.
    opened: bool,
}

/// What its member sees of it.
struct Seen {
    sight: Sight,
    /// The newest that they see.
    last: Option<LastMessage>,
    /// Whether it can be told from it what somebody has read.
    shows_reading: bool,
}

/// Which cursors are shown with a conversation. In a list there may be many of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marks {
    None,
    All,
    MovedSince(Timestamp),
}

impl Marks {
    fn has(self, member: &Member) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::MovedSince(time) => member.moved_at >= time,
        }
    }

    /// Whether a conversation is shown of which there are no such cursors.
    fn lists_also_without(self, live: &Live) -> bool {
        match self {
            Self::None | Self::All => true,
            Self::MovedSince(time) => live.read(|state| state.head.at()) >= time,
        }
    }
}

/// The latest first, each conversation once, at most `limit`. One that is just becoming a large one can be found twice.
fn in_order<R>(mut rows: Vec<R>, limit: usize, position: impl Fn(&R) -> ActivityPosition) -> Vec<R> {
    rows.sort_unstable_by_key(|row| Reverse(position(row)));
    let mut seen = HashSet::with_capacity(rows.len());
    rows.retain(|row| seen.insert(position(row).conversation));
    rows.truncate(limit);
    rows
}

fn parse_draft(draft: &NewDraft, now: Timestamp) -> Result<Box<SavedDraft>, InvalidField> {
    let text = field::kept("draft.text", &draft.text, DRAFT_CHARS_MAX)?;
    Ok(Box::new(SavedDraft { text, reply_to: draft.reply_to, updated_at: now }))
}

/// A conversation as one of its members sees it.
fn describe(
    row: &Listed,
    peer: Option<UserId>,
    users: &HashMap<UserId, User>,
    seen: &Seen,
    discretion: &Discretion,
    now: Timestamp,
) -> WireConversation {
    let Listed { live, member, settings, .. } = row;
    let Seen { sight, last, .. } = seen;
    live.read(|state| {
        let last_message = last.clone().map(|mut last| {
            // The entry that says so may not be there yet.
            if last.expires_at.is_some_and(|at| at <= now) {
                last.erase();
            }
            WireLastMessage {
                id: last.id,
                seq: last.seq,
                sender_id: last.sender_id,
                sender_name: users.get(&last.sender_id).map(|sender| sender.display_name.to_string()),
                kind: last.kind,
                event: last.event.map(String::from),
                preview: last.preview.into(),
                created_at: last.id.timestamp(),
                deleted: last.gone,
                status: discretion.status(state.status(last.seq, last.sender_id)),
            }
        });
        let details = &state.details;
        let is_direct = state.conversation.kind.is_direct();
        let peer = peer.and_then(|peer| users.get(&peer)).map(User::to_public);
        let (name, image) = match &peer {
            Some(peer) => (peer.display_name.clone(), peer.avatar.clone()),
            None => (details.name.to_string(), details.image.as_deref().map(str::to_owned)),
        };
        WireConversation {
            id: state.conversation.id,
            kind: state.conversation.wire_kind(),
            name,
            description: details.description.as_deref().map(str::to_owned),
            image,
            peer,
            permissions: (!is_direct).then_some(details.permissions),
            history: details.history,
            edits_visible_to: details.edits_visible_to,
            message_ttl_secs: details.message_ttl_secs,
            member_count: details.member_count,
            large: !state.is_whole(),
            pinned_message_ids: details
                .pins
                .iter()
                .filter(|pin| sight.sees(pin.seq))
                .map(|pin| pin.message_id)
                .collect(),
            created_by: state.conversation.created_by,
            created_at: state.conversation.created_at,
            updated_at: details.updated_at,
            last_activity_at: state.last_activity_at(),
            head: state.head.seq,
            last_message,
            unread: sight.unread(state, member),
            unread_mentions: sight.unread_mentions(state, member),
            me: member.to_wire(settings),
            cursors: Vec::new(),
        }
    })
}

/// The cursors that a member may know of, of those that are asked for.
fn shown_cursors(
    state: &ConversationState,
    member: &Member,
    discretion: &Discretion,
    marks: Marks,
) -> Vec<MemberCursor> {
    let members = if state.is_whole() { &*state.members } else { std::slice::from_ref(member) };
    let shown = members.iter().filter(|other| marks.has(other));
    shown.filter_map(|other| discretion.cursor(member.user_id, other)).collect()
}
