//! Delivered and read marks.
//!
//! A move is in memory at once, is told to the other members within [`CURSOR_BROADCAST_MS`], and is written within
//! [`CURSOR_SAVE_MS`]: scrolling through a hundred messages is one event and one write.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use godwit_protocol::conversations::MemberCursor;
use godwit_protocol::socket::{CursorEvent, Event};
use godwit_protocol::{ConversationId, Seq, UserId};
use thiserror::Error;

use crate::account_log::AccountLog;
use crate::conversations::{AccessError, Conversations, Live};
use crate::model::{Cursor, Kind};
use crate::ports::{Clock, CursorMove, Delivery, Store, StoreError};

/// How long moves are gathered before the others are told.
pub const CURSOR_BROADCAST_MS: u64 = 100;
/// How long moves are gathered before they are written.
pub const CURSOR_SAVE_MS: u64 = 1_000;
/// Moves that wait to be written. Past it a move is written before it is answered.
pub const CURSORS_UNSAVED_MAX: usize = 100_000;

#[derive(Debug)]
pub struct Cursors {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) delivery: Arc<dyn Delivery>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Moves that the other members have not been told.
    pub(crate) untold: Mutex<HashMap<(ConversationId, UserId), MemberCursor>>,
}

#[derive(Debug, Error)]
pub enum CursorError {
    #[error("no such conversation")]
    NotFound,
    #[error("the position is after the end of the log, which is {head}")]
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
    /// Moves the own marks forward. Marks that are further already stay; the answer says where they are now.
    pub async fn advance(
        &self,
        by: UserId,
        conversation: ConversationId,
        delivered: Option<Seq>,
        read: Option<Seq>,
    ) -> Result<MemberCursor, CursorError> {
        let live = self.conversations.of_member(by, conversation).await?;
        let furthest = delivered.max(read).unwrap_or_default();
        let head = self.conversations.head_at_least(&live, furthest).await?;
        if furthest > head {
            return Err(CursorError::AheadOfLog { head });
        }
        let target = Cursor {
            delivered: delivered.unwrap_or_default(),
            read: read.unwrap_or_default(),
            read_ordinal: self.ordinal_at(&live, read.unwrap_or_default()).await?,
        };
        let (moved, cursor) = live
            .write(|state| {
                let member = state.member_mut(by)?;
                let before = member.cursor;
                member.cursor = before.advanced_by(target);
                Some((member.cursor != before, *member))
            })
            .ok_or(CursorError::NotFound)?;
        if moved {
            self.remember(conversation, cursor.wire_cursor(), cursor.cursor).await?;
        }
        Ok(cursor.wire_cursor())
    }

    /// Tells and writes moves, until the future is dropped. One for the whole server.
    pub async fn run(&self) {
        let mut ticks = tokio::time::interval(Duration::from_millis(CURSOR_BROADCAST_MS));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut since_save_ms = 0;
        loop {
            ticks.tick().await;
            self.tell().await;
            since_save_ms += CURSOR_BROADCAST_MS;
            if since_save_ms >= CURSOR_SAVE_MS {
                since_save_ms = 0;
                if let Err(error) = self.save().await {
                    tracing::warn!(%error, "cursors could not be saved, they are kept for the next time");
                }
            }
        }
    }

    /// Tells and writes what is left. For a stop.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.tell().await;
        self.save().await
    }

    async fn ordinal_at(&self, live: &Live, seq: Seq) -> Result<u64, StoreError> {
        let at_head = live.read(|state| (state.head.seq == seq).then_some(state.head.ordinal));
        match at_head {
            Some(ordinal) => Ok(ordinal),
            None if seq == Seq::ZERO => Ok(0),
            None => Ok(self.store.entry(live.id(), seq).await?.map_or(0, |entry| entry.ordinal)),
        }
    }

    async fn remember(
        &self,
        conversation: ConversationId,
        wire: MemberCursor,
        cursor: Cursor,
    ) -> Result<(), StoreError> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner).insert((conversation, wire.user_id), wire);
        let at = self.clock.now();
        self.conversations.unsaved.add(CursorMove { conversation, user_id: wire.user_id, cursor, at });
        if self.conversations.unsaved.len() > CURSORS_UNSAVED_MAX { self.save().await } else { Ok(()) }
    }

    async fn tell(&self) {
        let untold = std::mem::take(&mut *self.untold.lock().unwrap_or_else(PoisonError::into_inner));
        for ((conversation_id, user), cursor) in untold {
            match self.audience(conversation_id, user).await {
                Ok(audience) => {
                    self.delivery.deliver(&audience, &Event::Cursor(CursorEvent { conversation_id, cursor }));
                }
                Err(error) => tracing::warn!(%conversation_id, %error, "a cursor could not be told"),
            }
        }
    }

    /// Who may know of a move: all members, but only the user's own devices where one has blocked the other.
    async fn audience(&self, conversation: ConversationId, user: UserId) -> Result<Vec<UserId>, StoreError> {
        let Some(live) = self.conversations.get(conversation).await? else { return Ok(Vec::new()) };
        let (kind, members) = live.read(|state| (state.conversation.kind, state.member_ids()));
        match kind {
            Kind::Direct(pair) if self.store.is_blocked(pair.low(), pair.high()).await? => Ok(vec![user]),
            Kind::Direct(_) => Ok(members),
        }
    }

    async fn save(&self) -> Result<(), StoreError> {
        let moves = self.conversations.unsaved.all();
        if moves.is_empty() {
            return Ok(());
        }
        let notes = self.store.move_cursors(&moves).await?;
        self.conversations.unsaved.remove(&moves);
        self.account_log.announce(&notes).await;
        Ok(())
    }
}
