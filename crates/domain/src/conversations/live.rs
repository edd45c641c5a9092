//! One conversation in memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use godwit_protocol::{ConversationId, Seq};

use super::{Hint, StateChange};
use crate::actions::ActionQueue;
use crate::model::ConversationState;

/// The newest known state of a conversation, and its outbox. Locks are held briefly, never across an await.
#[derive(Debug)]
pub struct Live {
    id: ConversationId,
    state: RwLock<ConversationState>,
    /// The newest `seq` that another node has announced. Zero once the state has caught up with it.
    heard: AtomicU64,
    /// The last doubt after which the state was compared with the store.
    sure_since: AtomicU64,
    /// A mutex for reloading the state from the store.
    pub(super) reloading: tokio::sync::Mutex<()>,
    pub(crate) queue: ActionQueue,
}

impl Live {
    pub(super) fn new(state: ConversationState, sure_since: u64) -> Self {
        Self {
            id: state.conversation.id,
            state: RwLock::new(state),
            heard: AtomicU64::new(0),
            sure_since: AtomicU64::new(sure_since),
            reloading: tokio::sync::Mutex::default(),
            queue: ActionQueue::default(),
        }
    }

    pub const fn id(&self) -> ConversationId {
        self.id
    }

    /// Replaces the state with a loaded one, unless the loaded one is older: both may have changed during the load.
    pub(super) fn take_over(&self, mut loaded: ConversationState, sure_since: u64) {
        self.write(|current| {
            if loaded.head.seq >= current.head.seq {
                for member in &mut loaded.members {
                    if let Some(known) = current.member(member.user_id) {
                        member.hear_of_move(known.cursor, known.moved_at);
                        member.concealed = member.concealed.and(known.concealed);
                    }
                }
                *current = loaded;
            }
            self.has_come_to(current.head.seq);
        });
        self.sure_since.fetch_max(sure_since, Ordering::Relaxed);
    }

    pub(super) fn take(&self, hint: &Hint<'_>) {
        match *hint {
            Hint::Head(seq) => self.hear_of(seq),
            Hint::Appended(change) => self.follow(change),
            Hint::CursorMoved(moved) => self.write(|state| {
                if let Some(member) = state.member_mut(moved.user_id) {
                    member.hear_of_move(moved.cursor, moved.at);
                }
            }),
            Hint::Concealed(user, concealed) => self.write(|state| {
                if let Some(member) = state.member_mut(user) {
                    member.concealed = member.concealed.and(concealed);
                }
            }),
        }
    }

    /// Another node has appended up to `seq`.
    fn hear_of(&self, seq: Seq) {
        self.write(|state| {
            if state.head.seq < seq {
                self.heard.fetch_max(seq.get(), Ordering::Relaxed);
            }
        });
    }

    /// Another node has made this append. If an entry before it is missing, or if the change may grant rights, only its
    /// `seq` is recorded, and the next use of the conversation loads the state from the store.
    fn follow(&self, change: &StateChange) {
        self.write(|state| {
            if state.head.seq == change.expected_head && !change.may_grant() {
                change.apply_to(state);
                self.has_come_to(state.head.seq);
            } else if state.head.seq < change.head.seq {
                self.heard.fetch_max(change.head.seq.get(), Ordering::Relaxed);
            }
        });
    }

    /// True if the store may have newer data than the memory.
    pub(super) fn is_behind(&self, doubts: u64) -> bool {
        self.heard.load(Ordering::Relaxed) != 0 || self.sure_since.load(Ordering::Relaxed) < doubts
    }

    fn has_come_to(&self, head: Seq) {
        if self.heard.load(Ordering::Relaxed) <= head.get() {
            self.heard.store(0, Ordering::Relaxed);
        }
    }

    pub fn read<R>(&self, look: impl FnOnce(&ConversationState) -> R) -> R {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn write<R>(&self, change: impl FnOnce(&mut ConversationState) -> R) -> R {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }
}
