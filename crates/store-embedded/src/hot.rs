//! Which conversations are hot (see `order.rs`), and when they are settled.

use std::collections::VecDeque;

use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, Timestamp};

use crate::keys;
use crate::read::Read;

/// A conversation is hot for this long, so that the rows of one that is always busy move once in this time.
pub(crate) const HOT_MS_MAX: i64 = 60_000;
/// Hot conversations in the whole store. It bounds what a start and a clean stop have to do.
pub(crate) const HOT_CONVERSATIONS_MAX: usize = 8_192;
/// Conversations that are settled with one group of writes, so that none is held up by many.
const SETTLED_PER_GROUP_MAX: usize = 32;

/// The hot conversations, the one that became so first in front. It is made anew from their rows at each start.
#[derive(Debug)]
pub(crate) struct HotQueue {
    conversations: VecDeque<(ConversationId, Timestamp)>,
}

/// Which conversations to settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Those that have been hot for long enough.
    Due,
    /// Whether they are due or not.
    All,
}

impl HotQueue {
    /// All that were hot when the store was last used.
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

    /// Takes out those that are to be settled with this group.
    pub(crate) fn take(&mut self, pace: Pace, now: Timestamp) -> Vec<ConversationId> {
        // The clock may have been set back: that too makes a conversation due, rather than hot for hours.
        let is_due = |since: Timestamp| pace == Pace::All || now.millis_since(since).abs() >= HOT_MS_MAX;
        let next = self.conversations.iter().take(SETTLED_PER_GROUP_MAX);
        let count = next.take_while(|(_, since)| is_due(*since)).count();
        self.conversations.drain(..count).map(|(conversation, _)| conversation).collect()
    }
}
