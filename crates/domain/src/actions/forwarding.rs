//! Actions that other nodes do.
//!
//! What was submitted for a conversation one after the other stays in that order, also when the node that had some of it
//! is gone: as long as an answer is awaited, later actions for the same conversation wait behind it.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use godwit_protocol::{ConversationId, UserId};

use super::action::{Action, Refusal};
use super::answer::Answer;
use super::appending::Appending;
use super::outbox::ACTIONS_WAITING_MAX;
use crate::ports::{ForwardedAction, Unanswered};

/// The actions of each conversation whose answers are awaited, or that wait behind such.
#[derive(Default)]
pub(crate) struct Lanes {
    lanes: Mutex<HashMap<ConversationId, VecDeque<Handed>>>,
}

struct Handed {
    actor: UserId,
    action: Action,
    answer: Answer,
    /// None when it is done here, as soon as what is before it has been.
    forwarded: Option<ForwardedAction>,
}

impl Appending {
    /// Gives the action to the node that prefers its conversation, or back.
    pub(super) fn hand_over(
        self: &Arc<Self>,
        actor: UserId,
        conversation: ConversationId,
        action: Action,
        answer: Answer,
    ) -> Option<(Action, Answer)> {
        let forwarded = self.peers.forward(actor, conversation, &action);
        let mut lanes = self.lanes.lock();
        match lanes.entry(conversation) {
            Entry::Vacant(_) if forwarded.is_none() => return Some((action, answer)),
            Entry::Vacant(vacant) => {
                vacant.insert(VecDeque::from([Handed { actor, action, answer, forwarded }]));
                let this = Arc::clone(self);
                tokio::spawn(async move { this.run_lane(conversation).await });
            }
            Entry::Occupied(lane) if lane.get().len() >= ACTIONS_WAITING_MAX => {
                drop(lanes);
                Self::refuse(action.name(), answer, Refusal::Busy);
            }
            Entry::Occupied(mut lane) => {
                lane.get_mut().push_back(Handed { actor, action, answer, forwarded });
            }
        }
        None
    }

    async fn run_lane(self: &Arc<Self>, conversation: ConversationId) {
        while let Some(Handed { actor, action, answer, forwarded }) = self.lanes.next(conversation) {
            let outcome = match forwarded {
                Some(forwarded) => forwarded.await,
                None => Err(Unanswered::NotAsked),
            };
            match outcome {
                Ok(outcome) => {
                    if let Some(last) = outcome.as_ref().ok().and_then(|done| done.entries.last()) {
                        self.conversations.hear_of(conversation, last.seq);
                    }
                    answer.give(outcome);
                }
                Err(Unanswered::Unknown) if !action.can_be_repeated() => {
                    answer.give(Err(Refusal::Interrupted("another node did not answer".into())));
                }
                Err(_) => self.submit_here(actor, conversation, action, answer).await,
            }
        }
    }
}

impl Lanes {
    /// The first one that waits. The lane ends with the last.
    fn next(&self, conversation: ConversationId) -> Option<Handed> {
        let mut lanes = self.lock();
        let next = lanes.get_mut(&conversation).and_then(VecDeque::pop_front);
        if next.is_none() {
            lanes.remove(&conversation);
        }
        next
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, VecDeque<Handed>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Lanes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lanes").field("conversations", &self.lock().len()).finish()
    }
}
