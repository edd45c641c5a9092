//! Hints and requests from other nodes.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_protocol::{ConversationId, DeviceId, Seq, UserId};

use crate::actions::{Action, Actions, Answer};
use crate::conversations::{Conversations, Hint, StateChange};
use crate::following::LOOKED_UP_AT_ONCE_MAX;
use crate::model::Concealed;
use crate::own_writes::OwnWrites;
use crate::ports::{CursorMove, StoreError};
use crate::presence::Presence;
use crate::sessions::Sessions;

#[derive(Debug)]
pub struct FromPeers {
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) actions: Arc<Actions>,
    pub(crate) own_writes: Arc<OwnWrites>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) sessions: Arc<Sessions>,
}

impl FromPeers {
    /// Executes an action on this node, even if another node prefers the conversation: two nodes that disagree about the
    /// preference must not send the action back and forth. When this returns, the action has its place in the outbox.
    pub async fn act(&self, actor: UserId, conversation: ConversationId, action: Action, answer: Answer) {
        self.actions.submit_here(actor, conversation, action, answer).await;
    }

    /// Another node has appended to a conversation, up to this entry.
    pub fn head(&self, conversation: ConversationId, seq: Seq) {
        self.conversations.take(conversation, &Hint::Head(seq));
    }

    pub fn appended(&self, change: &StateChange) {
        self.conversations.take(change.conversation, &Hint::Appended(change));
    }

    pub fn cursor_moved(&self, moved: &CursorMove) {
        self.conversations.take(moved.conversation, &Hint::CursorMoved(moved));
    }

    /// A member has concealed entries.
    pub fn concealed(&self, conversation: ConversationId, user: UserId, concealed: Concealed) {
        self.conversations.take(conversation, &Hint::Concealed(user, concealed));
    }

    /// Returns when the append to the conversation that is in progress has finished.
    pub async fn settle(&self, conversation: ConversationId) {
        if let Some(live) = self.conversations.known(conversation) {
            live.queue.settle().await;
        }
    }

    /// Like [`settle`](Self::settle) for all conversations, and for what users write outside of them.
    pub async fn settle_all(&self) {
        self.conversations.settle_all().await;
        self.own_writes.settle().await;
    }

    /// The members of a conversation among the users, each with the first entry that they see. Reads the store.
    pub async fn members_among(
        &self,
        conversation: ConversationId,
        users: &[UserId],
    ) -> Result<Vec<(UserId, Seq)>, StoreError> {
        stream::iter(users.to_vec())
            .map(|user| self.conversations.stored_member(conversation, user))
            .buffer_unordered(LOOKED_UP_AT_ONCE_MAX)
            .try_filter_map(|member| ready(Ok(member.map(|member| (member.user_id, member.history_from())))))
            .try_collect()
            .await
    }

    /// The node that had the user's sockets has crashed.
    pub async fn was_lost(&self, user: UserId) -> Result<(), StoreError> {
        self.presence.went_offline(user).await
    }

    /// The devices of a user whose session has ended.
    pub async fn ended_sessions(
        &self,
        user: UserId,
        devices: Vec<DeviceId>,
    ) -> Result<Vec<DeviceId>, StoreError> {
        self.sessions.ended(user, devices).await
    }

    /// The large conversations of a user, each with the first entry that the user sees.
    pub async fn followed(&self, user: UserId) -> Result<Vec<(ConversationId, Seq)>, StoreError> {
        self.presence.followed(user).await
    }

    /// The subset of the users whose presence `by` may see.
    pub async fn visible(&self, by: UserId, users: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let visible = self.presence.visible(by, users).await?;
        Ok(visible.into_iter().map(|event| event.user_id).collect())
    }

    /// For this long, no hint from another node is lost. Until the first call, the node is assumed to be the only one.
    pub fn trust_for(&self, time: Duration) {
        self.conversations.trust_for(time);
    }

    /// Hints from other nodes may have been lost.
    pub fn doubt(&self) {
        self.conversations.doubt();
    }
}
