//! What an append makes of a conversation, for nodes that did not make it.

use std::sync::Arc;

use godwit_protocol::{ConversationId, Seq};
use serde::{Deserialize, Serialize};

use crate::model::{ConversationState, Details, Head};
use crate::ports::{Append, CursorMove};
use crate::projection::{MemberWrite, apply};

/// The part of [`Effects`](crate::projection::Effects) that is kept in memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    pub conversation: ConversationId,
    /// Where the log ended before.
    pub expected_head: Seq,
    pub head: Head,
    pub details: Option<Arc<Details>>,
    pub members: Vec<MemberWrite>,
    pub cursors: Vec<CursorMove>,
}

impl StateChange {
    pub fn of(append: &Append) -> Self {
        Self {
            conversation: append.conversation,
            expected_head: append.expected_head,
            head: append.effects.head.clone(),
            details: append.effects.details.clone(),
            members: append.effects.members.clone(),
            cursors: append.effects.cursors.clone(),
        }
    }

    /// Whether it could let somebody in, or let them do more. That is not taken from hearsay: the store is asked.
    pub(super) fn may_grant(&self) -> bool {
        self.details.is_some() || self.members.iter().any(|write| matches!(write, MemberWrite::Put(_)))
    }

    pub(super) fn apply_to(&self, state: &mut ConversationState) {
        apply(state, &self.head, self.details.as_ref(), &self.members, &self.cursors);
    }
}
