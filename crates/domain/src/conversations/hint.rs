//! Changes that this node hears of, and those that it keeps while it loads the conversation.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use godwit_protocol::{Seq, UserId};

use super::{Live, StateChange};
use crate::model::{Concealed, ConversationState};
use crate::ports::CursorMove;

/// Members whose hints one load keeps. The state in memory has the members of conversations that are not large, and those
/// have fewer. Beyond the limit, the node compares the state with the store.
const KEPT_MEMBERS_MAX: usize = 4_096;

/// A change of a conversation. Applying it again, or late, changes nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Hint<'a> {
    /// Another node has appended up to this entry.
    Head(Seq),
    /// Another node has made this append.
    Appended(&'a StateChange),
    /// A cursor has moved on another node, or the store has written it as of `at`.
    CursorMoved(&'a CursorMove),
    /// A member has concealed entries, on this node or another one.
    Concealed(UserId, Concealed),
}

/// The hints that arrived during a load: the latest of each kind and member.
#[derive(Debug, Default)]
pub(super) struct Kept {
    head: Seq,
    cursors: HashMap<UserId, CursorMove>,
    concealed: HashMap<UserId, Concealed>,
    /// There were more than [`KEPT_MEMBERS_MAX`].
    is_cut: bool,
}

impl Kept {
    pub(super) fn add(&mut self, hint: &Hint<'_>) {
        match *hint {
            Hint::Head(seq) => self.head = self.head.max(seq),
            // The load may have read any state since, so an append counts as its head, and its effects are loaded.
            Hint::Appended(change) => self.head = self.head.max(change.head.seq),
            Hint::CursorMoved(moved) => {
                let merge = |known: CursorMove| CursorMove {
                    cursor: known.cursor.advanced_by(moved.cursor),
                    at: known.at.max(moved.at),
                    ..known
                };
                self.is_cut |= !keep(&mut self.cursors, moved.user_id, *moved, merge);
            }
            Hint::Concealed(user, concealed) => {
                let merge = |known: Concealed| known.and(concealed);
                self.is_cut |= !keep(&mut self.concealed, user, concealed, merge);
            }
        }
    }

    /// False if some hints are missing: then the state must be compared with the store.
    pub(super) fn apply_to(self, live: &Live) -> bool {
        let cursors = self.cursors.values().map(Hint::CursorMoved);
        let concealed = self.concealed.iter().map(|(user, concealed)| Hint::Concealed(*user, *concealed));
        for hint in cursors.chain(concealed).chain([Hint::Head(self.head)]) {
            live.take(&hint);
        }
        !self.is_cut || !live.read(ConversationState::is_whole)
    }
}

/// Adds a value, or merges it with the known one. False if there is no room.
fn keep<V: Copy>(kept: &mut HashMap<UserId, V>, user: UserId, new: V, merge: impl FnOnce(V) -> V) -> bool {
    let has_room = kept.len() < KEPT_MEMBERS_MAX;
    match kept.entry(user) {
        Entry::Occupied(mut known) => {
            let merged = merge(*known.get());
            known.insert(merged);
        }
        Entry::Vacant(vacant) if has_room => drop(vacant.insert(new)),
        Entry::Vacant(_) => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use godwit_protocol::{ConversationId, Timestamp};

    use super::*;
    use crate::model::Cursor;

    #[test]
    fn a_load_keeps_a_bounded_number_of_hints_and_detects_more() {
        let moved = |user: usize, read: u64, delivered: u64| CursorMove {
            conversation: ConversationId::new(1),
            user_id: UserId::new(user as u64),
            cursor: Cursor { delivered: Seq::new(delivered), read: Seq::new(read), read_ordinal: read },
            at: Timestamp::from_millis(read as i64),
        };
        let mut kept = Kept::default();
        for user in 0..KEPT_MEMBERS_MAX {
            kept.add(&Hint::CursorMoved(&moved(user, 3, 3)));
            kept.add(&Hint::CursorMoved(&moved(user, 1, 7)));
        }
        assert_eq!(kept.cursors[&UserId::new(0)].cursor, moved(0, 3, 7).cursor);
        assert!(!kept.is_cut);
        kept.add(&Hint::CursorMoved(&moved(KEPT_MEMBERS_MAX, 1, 1)));
        assert!(kept.is_cut && kept.cursors.len() == KEPT_MEMBERS_MAX);
    }
}
