//! The entry point of actions.

use std::sync::Arc;

use godwit_protocol::{ConversationId, UserId};

use super::action::{Action, Done};
use super::admit::Admission;
use super::answer::Answer;
use super::append::Appending;
use super::deliver::Delivering;
use super::forward::Forwarding;
use super::prepare::Preparing;
use super::refusal::Refusal;
use super::repeat::Repeats;
use super::rules::MessagePolicy;
use super::worker::Worker;
use crate::account_log::AccountLog;
use crate::consent::Consent;
use crate::conversations::Conversations;
use crate::following::Following;
use crate::ports::{Clock, Delivery, Peers, Store};

/// Executes actions.
#[derive(Debug)]
pub struct Actions {
    forwarding: Arc<Forwarding>,
    admission: Arc<Admission>,
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
        let admission = Arc::new(Admission::new(conversations.clone(), Worker::new(appending)));
        let forwarding = Arc::new(Forwarding::new(peers, conversations, admission.clone()));
        Self { forwarding, admission }
    }

    /// Executes an action. When this returns, the outcome is durable.
    pub async fn act(
        &self,
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
    pub async fn submit(&self, actor: UserId, conversation: ConversationId, action: Action, answer: Answer) {
        self.forwarding.submit(actor, conversation, action, answer).await;
    }

    /// Like [`submit`](Self::submit), but always executes the action on this node.
    pub(crate) async fn submit_here(
        &self,
        actor: UserId,
        conversation: ConversationId,
        action: Action,
        answer: Answer,
    ) {
        self.admission.submit(actor, conversation, action, answer).await;
    }

    /// Refuses a message before it was submitted.
    pub(crate) fn refuse_send(answer: Answer, refusal: Refusal) {
        answer.refuse("send", refusal);
    }
}
