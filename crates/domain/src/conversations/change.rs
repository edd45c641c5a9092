//! The change that an append makes to a conversation, for the nodes that did not append it.

use std::sync::Arc;

use godwit_protocol::{ConversationId, Seq};
use serde::{Deserialize, Serialize};

use crate::model::{ConversationState, Details, Head};
use crate::ports::{Append, CursorMove};
use crate::projection::{MemberWrite, apply};

/// The part of [`Effects`](crate::projection::Effects) that nodes keep in memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    pub conversation: ConversationId,
    /// The head before the append.
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

    /// True if the change could let a user in or give a member more rights. A node does not take such a change from a hint:
    /// it loads the state from the store.
    pub(super) fn may_grant(&self) -> bool {
        self.details.is_some() || self.members.iter().any(|write| matches!(write, MemberWrite::Put(_)))
    }

    pub(super) fn apply_to(&self, state: &mut ConversationState) {
        apply(state, &self.head, self.details.as_ref(), &self.members, &self.cursors);
    }
}
