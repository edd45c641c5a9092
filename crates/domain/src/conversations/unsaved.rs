//! Cursors that have moved in memory and are not in the store yet.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use godwit_protocol::{ConversationId, UserId};

use crate::model::ConversationState;
use crate::ports::CursorMove;

/// The newest unsaved move of each cursor.
#[derive(Debug, Default)]
pub(crate) struct UnsavedCursors {
    moves: Mutex<HashMap<ConversationId, HashMap<UserId, CursorMove>>>,
}

impl UnsavedCursors {
    /// A read mark that follows a delivered mark before it is saved takes the earlier time: the time of a delivery must not
    /// reveal when the user read.
    pub(crate) fn add(&self, moved: CursorMove) {
        let mut moves = self.lock();
        let of_conversation = moves.entry(moved.conversation).or_default();
        let before = of_conversation.get(&moved.user_id);
        let at = before.filter(|before| before.cursor.delivered == moved.cursor.delivered);
        let at = at.map_or(moved.at, |before| before.at);
        of_conversation.insert(moved.user_id, CursorMove { at, ..moved });
    }

    pub(crate) fn of(&self, conversation: ConversationId, user: UserId) -> Option<CursorMove> {
        self.lock().get(&conversation)?.get(&user).copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().values().map(HashMap::len).sum()
    }

    /// Applies the unsaved moves to a state that was loaded from the store.
    pub(crate) fn apply_to(&self, state: &mut ConversationState) {
        let moves = self.lock();
        for moved in moves.get(&state.conversation.id).into_iter().flat_map(HashMap::values) {
            if let Some(member) = state.member_mut(moved.user_id) {
                member.move_to(moved.cursor, moved.at);
            }
        }
    }

    pub(crate) fn all(&self) -> Vec<CursorMove> {
        self.lock().values().flat_map(HashMap::values).copied().collect()
    }

    /// Removes saved moves, unless the cursor has moved again since.
    pub(crate) fn remove(&self, saved: &[CursorMove]) {
        let mut moves = self.lock();
        for done in saved {
            if let Entry::Occupied(mut of_conversation) = moves.entry(done.conversation) {
                if of_conversation.get().get(&done.user_id) == Some(done) {
                    of_conversation.get_mut().remove(&done.user_id);
                }
                if of_conversation.get().is_empty() {
                    of_conversation.remove();
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, HashMap<UserId, CursorMove>>> {
        self.moves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
