//! One conversation in memory.

use std::sync::{PoisonError, RwLock};

use godwit_protocol::ConversationId;

use crate::actions::Outbox;
use crate::model::ConversationState;

/// The newest known state of a conversation, and the actions that wait for it. Locks are held for moments, never over an
/// await.
#[derive(Debug)]
pub struct Live {
    id: ConversationId,
    state: RwLock<ConversationState>,
    pub(crate) outbox: Outbox,
}

impl Live {
    pub(crate) fn new(state: ConversationState) -> Self {
        Self { id: state.conversation.id, state: RwLock::new(state), outbox: Outbox::default() }
    }

    pub const fn id(&self) -> ConversationId {
        self.id
    }

    /// Takes what was loaded, unless it is older than what is here: both may have changed while it was loaded.
    pub(crate) fn take_over(&self, mut loaded: ConversationState) {
        self.write(|current| {
            if loaded.head.seq < current.head.seq {
                return;
            }
            for member in &mut loaded.members {
                if let Some(known) = current.member(member.user_id) {
                    member.cursor = member.cursor.advanced_by(known.cursor);
                }
            }
            *current = loaded;
        });
    }

    pub fn read<R>(&self, look: impl FnOnce(&ConversationState) -> R) -> R {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn write<R>(&self, change: impl FnOnce(&mut ConversationState) -> R) -> R {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }
}
