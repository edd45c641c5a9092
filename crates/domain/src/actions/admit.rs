//! Admits actions to the queue of their conversation on this node.

use std::sync::Arc;
use std::time::Instant;

use godwit_protocol::{ConversationId, UserId};

use super::action::Action;
use super::answer::Answer;
use super::job::Job;
use super::refusal::Refusal;
use super::worker::Worker;
use crate::conversations::{Conversations, Live};

#[derive(Debug)]
pub(super) struct Admission {
    conversations: Arc<Conversations>,
    worker: Worker,
}

impl Admission {
    pub(super) const fn new(conversations: Arc<Conversations>, worker: Worker) -> Self {
        Self { conversations, worker }
    }

    /// Puts the action into the queue of its conversation, or refuses it.
    pub(super) async fn submit(
        &self,
        actor: UserId,
        conversation: ConversationId,
        action: Action,
        answer: Answer,
    ) {
        match self.admit(actor, conversation, &action).await {
            Ok(live) => {
                let job = Job { actor, action, started: Instant::now(), waiting: vec![answer] };
                self.worker.enqueue(live, job);
            }
            Err(refusal) => answer.refuse(action.name(), refusal),
        }
    }

    /// The conversation, if the actor may act in it. Joining and expiring need no membership.
    async fn admit(
        &self,
        actor: UserId,
        conversation: ConversationId,
        action: &Action,
    ) -> Result<Arc<Live>, Refusal> {
        match action {
            Action::Join { .. } | Action::Expire { .. } => {
                self.conversations.get(conversation).await?.ok_or(Refusal::NotFound)
            }
            _ => Ok(self.conversations.of_member(actor, conversation).await?.0),
        }
    }
}
