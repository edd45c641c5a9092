//! A conversation as one of its members sees it.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_protocol::conversations::{
    Conversation as WireConversation, LastMessage as WireLastMessage, MemberCursor,
};
use godwit_protocol::messages::MessageStatus;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::Inbox;
use crate::conversations::Live;
use crate::model::{LastMessage, Member, Settings, User};
use crate::ports::StoreError;
use crate::sight::{Discretion, Sight, newest_seen};

/// Rows whose newest visible message is looked up at the same time. Each may hold a page of messages.
const ROWS_AT_ONCE_MAX: usize = 8;

/// A conversation in the inbox of one member.
pub(super) struct Listed {
    pub(super) live: Arc<Live>,
    pub(super) member: Member,
    pub(super) settings: Settings,
    /// The conversation is shown on its own, with the cursors of its members.
    pub(super) opened: bool,
}

/// The part of a conversation that its member sees.
struct Seen {
    sight: Sight,
    /// The newest message that the member sees.
    last: Option<LastMessage>,
    /// Whether the row reveals what a member has read.
    shows_reading: bool,
}

/// The cursors that come with a conversation. A list may contain many of them.
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

    /// True if a conversation is shown even without such cursors.
    pub(super) fn lists_also_without(self, live: &Live) -> bool {
        match self {
            Self::None | Self::All => true,
            Self::MovedSince(time) => live.read(|state| state.head.at()) >= time,
        }
    }
}

impl Inbox {
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
                tracing::error!(%conversation, "an inbox row has no conversation");
                continue;
            };
            // A member who was removed a moment ago still has a row for a moment.
            if let Some(member) = self.conversations.member(&live, by).await? {
                listed.push(Listed { live, member, settings, opened: marks != Marks::None });
            }
        }
        self.complete(by, listed, marks).await
    }

    /// Loads the data needed to show the rows.
    pub(super) async fn complete(
        &self,
        by: UserId,
        listed: Vec<Listed>,
        marks: Marks,
    ) -> Result<Vec<WireConversation>, StoreError> {
        let peers: Vec<Option<UserId>> = listed
            .iter()
            .map(|row| row.live.read(|state| Some(state.conversation.kind.pair()?.other(by))))
            .collect();
        let looking: Vec<_> = listed.iter().map(|row| self.seen(row)).collect();
        let seen: Vec<Seen> = stream::iter(looking).buffered(ROWS_AT_ONCE_MAX).try_collect().await?;
        let senders = seen.iter().filter_map(|seen| seen.last.as_ref().map(|last| last.sender_id));
        // The user's own settings decide on receipts too.
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
                // The row would show no read mark now. A mark may move before the row is shown, so read marks stay hidden.
                _ if !seen.shows_reading => Discretion::of_nobody(),
                Some(peer) => {
                    let both_tell = tells(peer) && tells(by);
                    // A block hides more than the setting does, but a status alone looks the same.
                    let may_differ = both_tell || row.opened;
                    let blocked = may_differ && self.store.is_blocked(by, peer).await?;
                    Discretion::of_two(both_tell, blocked)
                }
                None => {
                    let (kind, members) =
                        row.live.read(|state| (state.conversation.kind, state.member_ids()));
                    Discretion::of(&*self.store, by, kind, members).await?
                }
            };
            let cursors = self.cursors(row, marks, &discretion).await?;
            // The only change may be a mark that the user must not know of.
            if !cursors.is_empty() || marks.lists_also_without(&row.live) {
                let described = describe(row, peer, &users, seen, &discretion, now);
                shown.push(WireConversation { cursors, ..described });
            }
        }
        Ok(shown)
    }

    /// The requested cursors, as far as the member may see them. If the read mark of a member is hidden, so is a move of it:
    /// that cursor counts as moved only if its delivered mark has moved.
    async fn cursors(
        &self,
        row: &Listed,
        marks: Marks,
        discretion: &Discretion,
    ) -> Result<Vec<MemberCursor>, StoreError> {
        let Listed { live, member, .. } = row;
        let is_discreet =
            |other: &Member| other.user_id != member.user_id && discretion.hides_reading_of(other.user_id);
        let (mut shown, mut discreet) = (Vec::new(), Vec::new());
        live.read(|state| {
            let members = if state.is_whole() { &*state.members } else { std::slice::from_ref(member) };
            for other in members.iter().filter(|other| marks.has(other)) {
                let Some(cursor) = discretion.cursor(member.user_id, other) else { continue };
                match marks {
                    Marks::MovedSince(since) if is_discreet(other) => {
                        discreet.push((cursor, other.moved_at, since));
                    }
                    _ => shown.push(cursor),
                }
            }
        });
        for (cursor, moved_at, since) in discreet {
            if self.delivered_at(live.id(), cursor).await?.unwrap_or(moved_at) >= since {
                shown.push(cursor);
            }
        }
        Ok(shown)
    }

    /// When a delivered mark last moved: the time of the move that reached the entry at the mark. `None` if the store does
    /// not have the move yet, as in its first second. Only a direct conversation with hidden read marks asks this, so it is
    /// one read for one member.
    async fn delivered_at(
        &self,
        id: ConversationId,
        cursor: MemberCursor,
    ) -> Result<Option<Timestamp>, StoreError> {
        let times = self.store.receipts(id, cursor.delivered, &[cursor.user_id]).await?;
        Ok(times.first().and_then(|times| times.delivered_at))
    }

    /// The part of a conversation that a member sees in a list.
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
            // The message has expired, and the entry that says so may not be in the log yet.
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
