//! Forwards actions to other nodes.
//!
//! Actions for one conversation keep the order in which they were submitted, even if the node that has received some of them
//! crashes. While an answer is pending, later actions for the same conversation wait behind it in a lane.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use godwit_protocol::{ConversationId, UserId};

use super::action::Action;
use super::admit::Admission;
use super::answer::Answer;
use super::queue::ACTIONS_WAITING_MAX;
use super::refusal::Refusal;
use crate::conversations::{Conversations, Hint};
use crate::ports::{ForwardedAction, Peers, Unanswered};

/// Decides for each action whether another node or this one executes it.
#[derive(Debug)]
pub(super) struct Forwarding {
    peers: Arc<dyn Peers>,
    conversations: Arc<Conversations>,
    admission: Arc<Admission>,
    lanes: Lanes,
}

/// For each conversation: actions that wait for an answer from another node, and the actions behind them.
#[derive(Default)]
struct Lanes {
    lanes: Mutex<HashMap<ConversationId, VecDeque<Handed>>>,
}

struct Handed {
    actor: UserId,
    action: Action,
    answer: Answer,
    /// `None` for an action that this node executes itself.
    forwarded: Option<ForwardedAction>,
}

impl Forwarding {
    pub(super) fn new(
        peers: Arc<dyn Peers>,
        conversations: Arc<Conversations>,
        admission: Arc<Admission>,
    ) -> Self {
        Self { peers, conversations, admission, lanes: Lanes::default() }
    }

    /// Submits the action to the node that prefers its conversation, or on this node.
    pub(super) async fn submit(
        self: &Arc<Self>,
        actor: UserId,
        conversation: ConversationId,
        action: Action,
        answer: Answer,
    ) {
        if let Some((action, answer)) = self.forward(actor, conversation, action, answer) {
            self.admission.submit(actor, conversation, action, answer).await;
        }
    }

    /// Forwards the action. Returns it if this node should execute it.
    fn forward(
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
                answer.refuse(action.name(), Refusal::Busy);
            }
            Entry::Occupied(mut lane) => {
                lane.get_mut().push_back(Handed { actor, action, answer, forwarded });
            }
        }
        None
    }

    async fn run_lane(&self, conversation: ConversationId) {
        while let Some(Handed { actor, action, answer, forwarded }) = self.lanes.next(conversation) {
            let outcome = match forwarded {
                Some(forwarded) => forwarded.await,
                None => Err(Unanswered::NotAsked),
            };
            match outcome {
                Ok(outcome) => {
                    if let Some(last) = outcome.as_ref().ok().and_then(|done| done.entries.last()) {
                        self.conversations.take(conversation, &Hint::Head(last.seq));
                    }
                    answer.give(outcome);
                }
                Err(Unanswered::Unknown) if !action.can_be_repeated() => {
                    answer.give(Err(Refusal::Interrupted("another node did not answer".into())));
                }
                Err(_) => self.admission.submit(actor, conversation, action, answer).await,
            }
        }
    }
}

impl Lanes {
    /// Takes the first action of a lane. An empty lane is removed.
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
