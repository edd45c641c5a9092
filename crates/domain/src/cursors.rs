//! Delivered and read marks.
//!
//! A move takes effect in memory at once. The server tells other members and writes to the store within
//! [`CURSOR_BROADCAST_MS`], but writes each cursor at most once per [`CURSOR_SAVE_MS`]. Scrolling through 100 messages
//! therefore causes one event and two writes. The client gets its answer after the write, so an acknowledged cursor never
//! goes back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use godwit_protocol::conversations::MemberCursor;
use godwit_protocol::socket::{CursorEvent, Event};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::account_log::AccountLog;
use crate::conversations::{AccessError, Conversations, Hint};
use crate::inbox::Inbox;
use crate::model::{Cursor, Member};
use crate::ports::{Clock, CursorMove, Delivery, Peers, Store, StoreError};
use crate::sight::{Discretion, unread_cursor};

/// How long moves are batched before other members are told.
pub const CURSOR_BROADCAST_MS: u64 = 100;
/// The minimum time between two writes of one cursor.
pub const CURSOR_SAVE_MS: u64 = 1_000;
/// How long a move may wait for its write. After that, the caller gets an error that leaves the outcome open.
pub const CURSOR_SAVED_WITHIN_MS: u64 = 10_000;
/// Unsaved moves. Above this, a move is written before it is answered (backpressure).
pub const CURSORS_UNSAVED_MAX: usize = 100_000;
/// Moves that are announced concurrently. Each may wait for the store.
const TOLD_AT_ONCE_MAX: usize = 32;

#[derive(Debug)]
pub struct Cursors {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) delivery: Arc<dyn Delivery>,
    pub(crate) peers: Arc<dyn Peers>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Moves that were not announced to other members yet.
    pub(crate) untold: Mutex<HashMap<(ConversationId, UserId), Untold>>,
    pub(crate) saved: Saved,
}

/// A cursor that was not announced yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Untold {
    cursor: MemberCursor,
    /// Whether the delivered mark moved, and not only the read mark.
    is_delivery: bool,
}

impl Untold {
    fn followed_by(self, later: Self) -> Self {
        Self { is_delivery: self.is_delivery || later.is_delivery, ..later }
    }
}

/// Cursors that were written less than [`CURSOR_SAVE_MS`] ago.
#[derive(Debug, Default)]
pub(crate) struct Saved {
    cursors: Mutex<HashMap<(ConversationId, UserId), (Cursor, Instant)>>,
    /// Notifies after each write.
    rounds: watch::Sender<()>,
}

impl Saved {
    fn add(&self, moves: &[CursorMove]) {
        let now = Instant::now();
        let mut cursors = self.lock();
        cursors.retain(|_, (_, at)| now - *at < Duration::from_millis(CURSOR_SAVE_MS));
        cursors.extend(moves.iter().map(|done| ((done.conversation, done.user_id), (done.cursor, now))));
        drop(cursors);
        self.rounds.send_replace(());
    }

    fn of(&self, conversation: ConversationId, user: UserId) -> Option<(Cursor, Instant)> {
        self.lock().get(&(conversation, user)).copied()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(ConversationId, UserId), (Cursor, Instant)>> {
        self.cursors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Error)]
pub enum CursorError {
    #[error("no such conversation")]
    NotFound,
    #[error("the position is past the end of the log ({head})")]
    AheadOfLog { head: Seq },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AccessError> for CursorError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::NotFound => Self::NotFound,
            AccessError::Store(error) => Self::Store(error),
        }
    }
}

impl Cursors {
    /// Moves the caller's marks forward. A mark that is further already stays. Returns the resulting cursor.
    pub async fn advance(
        &self,
        by: UserId,
        conversation: ConversationId,
        delivered: Option<Seq>,
        read: Option<Seq>,
    ) -> Result<MemberCursor, CursorError> {
        let (live, member) = self.conversations.of_member(by, conversation).await?;
        let furthest = delivered.max(read).unwrap_or_default();
        let head = self.conversations.head_at_least(&live, furthest).await?;
        if furthest > head {
            return Err(CursorError::AheadOfLog { head });
        }
        let target = Cursor {
            delivered: delivered.unwrap_or_default(),
            read: read.unwrap_or_default(),
            read_ordinal: self.conversations.ordinal_at(&live, read.unwrap_or_default()).await?,
        };
        // The state of a large conversation has no members in memory. Then the unsaved moves are the newest known cursors.
        let at = self.clock.now();
        let (before, after) = live
            .write(|state| {
                let member = state.member_mut(by)?;
                let before = member.cursor;
                member.move_to(target, at);
                Some((before, member.cursor))
            })
            .unwrap_or_else(|| (member.cursor, member.cursor.advanced_by(target)));
        let member = Member { cursor: after, ..member };
        if after != before {
            let is_delivery = after.delivered > before.delivered;
            let moved = Untold { cursor: member.wire_cursor(), is_delivery };
            self.remember(conversation, moved, after, at).await?;
        }
        if read.is_some() {
            self.inbox.unmark(by, conversation).await?;
        }
        Ok(member.wire_cursor())
    }

    /// Returns when the store has a cursor that this node moved to `to`.
    pub async fn written(&self, conversation: ConversationId, to: MemberCursor) -> Result<(), StoreError> {
        let mut rounds = self.saved.rounds.subscribe();
        let is_written = || {
            let saved = self.saved.of(conversation, to.user_id);
            saved.is_some_and(|(saved, _)| saved.delivered >= to.delivered && saved.read >= to.read)
                || self.conversations.unsaved.of(conversation, to.user_id).is_none()
        };
        let written = async {
            while !is_written() {
                // Cannot fail: `self` owns the sender.
                let _ = rounds.changed().await;
            }
        };
        timeout(Duration::from_millis(CURSOR_SAVED_WITHIN_MS), written)
            .await
            .map_err(|late| StoreError::Unavailable { operation: "write a cursor", source: late.into() })
    }

    /// Announces and writes moves until the future is dropped. The server runs one of these.
    pub async fn run(&self) {
        let every = || {
            let mut ticks = tokio::time::interval(Duration::from_millis(CURSOR_BROADCAST_MS));
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            ticks
        };
        let telling = async {
            let mut ticks = every();
            loop {
                ticks.tick().await;
                self.tell().await;
            }
        };
        // A store that does not answer does not delay announcements.
        let saving = async {
            let mut ticks = every();
            loop {
                ticks.tick().await;
                let moves = self.conversations.unsaved.all();
                let due = moves.into_iter().filter(|moved| self.is_due(moved)).collect();
                if let Err(error) = self.save(due).await {
                    tracing::warn!(%error, "could not store cursors; retrying later");
                }
            }
        };
        tokio::join!(telling, saving);
    }

    /// Announces and writes the remaining moves, for a shutdown.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.tell().await;
        self.save(self.conversations.unsaved.all()).await
    }

    fn is_due(&self, moved: &CursorMove) -> bool {
        let saved = self.saved.of(moved.conversation, moved.user_id);
        saved.is_none_or(|(_, at)| at.elapsed() >= Duration::from_millis(CURSOR_SAVE_MS))
    }

    async fn remember(
        &self,
        conversation: ConversationId,
        moved: Untold,
        cursor: Cursor,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let user_id = moved.cursor.user_id;
        self.untold
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry((conversation, user_id))
            .and_modify(|before| *before = before.followed_by(moved))
            .or_insert(moved);
        self.conversations.unsaved.add(CursorMove { conversation, user_id, cursor, at });
        if self.conversations.unsaved.len() > CURSORS_UNSAVED_MAX {
            self.save(self.conversations.unsaved.all()).await
        } else {
            Ok(())
        }
    }

    async fn tell(&self) {
        let untold = std::mem::take(&mut *self.untold.lock().unwrap_or_else(PoisonError::into_inner));
        let moves = untold.keys().filter_map(|(id, user)| self.conversations.unsaved.of(*id, *user));
        self.peers.cursors_moved(&moves.collect::<Vec<_>>());
        let tell = async |((conversation_id, _), moved)| {
            if let Err(error) = self.tell_one(conversation_id, moved).await {
                tracing::warn!(%conversation_id, %error, "could not announce a cursor");
            }
        };
        stream::iter(untold).for_each_concurrent(TOLD_AT_ONCE_MAX, tell).await;
    }

    /// Tells the user's own devices about every move. In a group that is not large, tells the other members too, except those
    /// whom the user has blocked. In a direct conversation, tells the other user unless one has blocked the other, and shares
    /// the read mark only if both users share theirs. Otherwise the event has no read mark, and a move of the read mark alone
    /// causes no event, because the event would reveal it.
    async fn tell_one(&self, conversation_id: ConversationId, moved: Untold) -> Result<(), StoreError> {
        let Some(live) = self.conversations.get(conversation_id).await? else { return Ok(()) };
        let Untold { cursor, is_delivery } = moved;
        let user = cursor.user_id;
        let event = |cursor| Event::Cursor(CursorEvent { conversation_id, cursor });
        let (kind, members) = live.read(|state| (state.conversation.kind, state.member_ids()));
        let Some(pair) = kind.pair() else {
            let mut told = if members.is_empty() { vec![user] } else { members };
            let blocked = self.store.blocked_among(user, &told).await?;
            told.retain(|member| !blocked.contains(member));
            self.delivery.deliver(&told, &event(cursor));
            return Ok(());
        };
        self.delivery.deliver(&[user], &event(cursor));
        let other = pair.other(user);
        let both = [user, other];
        let (users, blocked) = tokio::try_join!(self.store.users(&both), self.store.is_blocked(user, other))?;
        if blocked {
            return Ok(());
        }
        let both_tell = users.iter().all(|user| user.read_receipts);
        if !Discretion::of_two(both_tell, blocked).hides_reading_of(user) {
            self.delivery.deliver(&[other], &event(cursor));
        } else if is_delivery {
            self.delivery.deliver(&[other], &event(unread_cursor(cursor)));
        }
        Ok(())
    }

    async fn save(&self, moves: Vec<CursorMove>) -> Result<(), StoreError> {
        if moves.is_empty() {
            return Ok(());
        }
        let written = self.dated(&moves);
        let notes = self.store.move_cursors(&written).await?;
        self.conversations.unsaved.remove(&moves);
        self.saved.add(&moves);
        for moved in &written {
            self.conversations.take(moved.conversation, &Hint::CursorMoved(moved));
        }
        // A node that loaded a conversation before this write has not seen these moves.
        self.peers.cursors_moved(&written);
        self.account_log.announce(&notes).await;
        Ok(())
    }

    /// Dates a move that waited long for the store from the time of its write: a client that asks for changes looks back no
    /// further than the store's activity lag.
    fn dated(&self, moves: &[CursorMove]) -> Vec<CursorMove> {
        let now = self.clock.now();
        let is_late = |moved: &CursorMove| now.millis_since(moved.at) > CURSOR_SAVED_WITHIN_MS as i64;
        moves
            .iter()
            .map(|moved| CursorMove { at: if is_late(moved) { now } else { moved.at }, ..*moved })
            .collect()
    }
}
