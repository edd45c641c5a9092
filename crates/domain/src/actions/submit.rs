//! The entry point of actions.

use std::sync::Arc;
use std::time::Instant;

use godwit_protocol::{ConversationId, UserId};

use super::action::{Action, Done};
use super::answer::Answer;
use super::append::Appending;
use super::deliver::Delivering;
use super::forward::Lanes;
use super::job::Job;
use super::measure;
use super::prepare::Preparing;
use super::refusal::Refusal;
use super::repeat::Repeats;
use super::rules::MessagePolicy;
use super::worker::Worker;
use crate::account_log::AccountLog;
use crate::consent::Consent;
use crate::conversations::{Conversations, Live};
use crate::following::Following;
use crate::ports::{Clock, Delivery, Peers, Store};

/// Executes actions.
#[derive(Debug)]
pub struct Actions {
    pub(super) conversations: Arc<Conversations>,
    pub(super) peers: Arc<dyn Peers>,
    pub(super) lanes: Lanes,
    worker: Worker,
}

/// The dependencies of [`Actions`].
pub(crate) struct ActionParts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) consent: Consent,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) following: Arc<Following>,
    pub(crate) delivery: Arc<dyn Delivery>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) peers: Arc<dyn Peers>,
    pub(crate) policy: MessagePolicy,
}

impl Actions {
    pub(crate) fn new(parts: ActionParts) -> Self {
        let ActionParts { store, conversations, consent, .. } = parts;
        let ActionParts { account_log, following, delivery, clock, peers, policy, .. } = parts;
        let preparing = Preparing { store: store.clone(), conversations: conversations.clone(), consent };
        let repeats =
            Repeats { store: store.clone(), conversations: conversations.clone(), clock: clock.clone() };
        let delivering =
            Delivering { peers: peers.clone(), following, delivery, account_log, clock: clock.clone() };
        let appending = Appending {
            store,
            conversations: conversations.clone(),
            clock,
            policy,
            preparing,
            repeats,
            delivering,
        };
        Self { conversations, peers, lanes: Lanes::default(), worker: Worker::new(appending) }
    }

    /// Executes an action. When this returns, the outcome is durable.
    pub async fn act(
        self: &Arc<Self>,
        actor: UserId,
        conversation: ConversationId,
        action: Action,
    ) -> Result<Done, Refusal> {
        let (answer, outcome) = Answer::awaited();
        self.submit(actor, conversation, action, answer).await;
        outcome.await
    }

    /// Submits an action. When this returns, the action has its place in the queue or was refused. Actions that are
    /// submitted one after the other are appended in that order.
    pub async fn submit(
        self: &Arc<Self>,
        actor: UserId,
        conversation: ConversationId,
        action: Action,
        answer: Answer,
    ) {
        if let Some((action, answer)) = self.forward(actor, conversation, action, answer) {
            self.submit_here(actor, conversation, action, answer).await;
        }
    }

    /// Like [`submit`](Self::submit), but always executes the action on this node.
    pub(crate) async fn submit_here(
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
            Err(refusal) => refuse(action.name(), answer, refusal),
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

    /// Refuses a message before it was submitted.
    pub(crate) fn refuse_send(answer: Answer, refusal: Refusal) {
        refuse("send", answer, refusal);
    }
}

/// Refuses an action that never entered a queue.
pub(super) fn refuse(action: &str, answer: Answer, refusal: Refusal) {
    measure::refused(action, &refusal);
    answer.give(Err(refusal));
}
