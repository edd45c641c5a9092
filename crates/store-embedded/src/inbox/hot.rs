//! The queue of hot conversations (see `order.rs`), and when they are settled.

use std::collections::VecDeque;

use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, Timestamp};

use crate::keys;
use crate::read::Read;

/// How long a conversation stays hot, in milliseconds. The rows of a busy conversation move once in this time.
pub(crate) const HOT_MS_MAX: i64 = 60_000;
/// Hot conversations in the whole store. Bounds the work of a start and of a clean stop.
pub(crate) const HOT_CONVERSATIONS_MAX: usize = 8_192;
/// Conversations settled with one group of writes, so that no write waits for many.
const SETTLED_PER_GROUP_MAX: usize = 32;

/// The hot conversations, the oldest first. Rebuilt from their rows at each start.
#[derive(Debug)]
pub(crate) struct HotQueue {
    conversations: VecDeque<(ConversationId, Timestamp)>,
}

/// Which conversations to settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Those that have been hot for long enough.
    Due,
    /// All, whether due or not.
    All,
}

impl HotQueue {
    /// Reads the conversations that were hot when the store stopped.
    pub(crate) fn read(store: &impl Read, now: Timestamp) -> Result<Self, StoreError> {
        let rows = store.all(&keys::all_hot())?;
        let hot = rows.iter().map(|(key, _)| Ok((ConversationId::new(keys::last_id("hot", key)?), now)));
        Ok(Self { conversations: hot.collect::<Result<_, StoreError>>()? })
    }

    pub(crate) fn len(&self) -> usize {
        self.conversations.len()
    }

    pub(crate) fn room(&self) -> usize {
        HOT_CONVERSATIONS_MAX.saturating_sub(self.len())
    }

    pub(crate) fn extend(&mut self, heated: &[ConversationId], now: Timestamp) {
        self.conversations.extend(heated.iter().map(|conversation| (*conversation, now)));
    }

    /// Removes and returns the conversations to settle with this group.
    pub(crate) fn take(&mut self, pace: Pace, now: Timestamp) -> Vec<ConversationId> {
        // If the clock was set back, a conversation is due too. Otherwise it could stay hot for hours.
        let is_due = |since: Timestamp| pace == Pace::All || now.millis_since(since).abs() >= HOT_MS_MAX;
        let next = self.conversations.iter().take(SETTLED_PER_GROUP_MAX);
        let count = next.take_while(|(_, since)| is_due(*since)).count();
        self.conversations.drain(..count).map(|(conversation, _)| conversation).collect()
    }
}
