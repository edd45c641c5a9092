//! What other nodes tell this one and ask it to do.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_protocol::{ConversationId, DeviceId, Seq, UserId};

use crate::actions::{Action, Answer, Appending};
use crate::conversations::{Conversations, StateChange};
use crate::model::Concealed;
use crate::ports::{CursorMove, StoreError};
use crate::presence::Presence;
use crate::sessions::Sessions;

/// Members who are looked up at once.
const LOOKED_UP_AT_ONCE_MAX: usize = 16;

#[derive(Debug)]
pub struct FromPeers {
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) appending: Arc<Appending>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) sessions: Arc<Sessions>,
}

impl FromPeers {
    /// Does an action here, whoever prefers its conversation: two nodes that do not agree on that must not send it back and
    /// forth. When it returns the action has its place in the queue.
    pub async fn act(&self, actor: UserId, conversation: ConversationId, action: Action, answer: Answer) {
        self.appending.submit_here(actor, conversation, action, answer).await;
    }

    /// A conversation has come to this entry.
    pub fn head(&self, conversation: ConversationId, seq: Seq) {
        self.conversations.hear_of(conversation, seq);
    }

    pub fn appended(&self, change: &StateChange) {
        self.conversations.follow(change);
    }

    pub fn cursor_moved(&self, moved: &CursorMove) {
        self.conversations.cursor_moved(moved);
    }

    /// A member has deleted something for themselves.
    pub fn concealed(&self, conversation: ConversationId, user: UserId, concealed: Concealed) {
        self.conversations.conceal(conversation, user, concealed);
    }

    /// Returns when what is being appended to the conversation now is finished.
    pub async fn settle(&self, conversation: ConversationId) {
        if let Some(live) = self.conversations.known(conversation) {
            live.outbox.settle().await;
        }
    }

    /// The same for all conversations.
    pub async fn settle_all(&self) {
        self.conversations.settle_all().await;
    }

    /// Those of these users who are members of a conversation, each with the first entry that they see, as the store has it.
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

    /// The node at which the user was has gone without a word.
    pub async fn was_lost(&self, user: UserId) -> Result<(), StoreError> {
        self.presence.went_offline(user).await
    }

    /// Those of a user's devices whose session has ended.
    pub async fn ended_sessions(
        &self,
        user: UserId,
        devices: Vec<DeviceId>,
    ) -> Result<Vec<DeviceId>, StoreError> {
        self.sessions.ended(user, devices).await
    }

    /// The large conversations that a user is in, with the first entry that they see.
    pub async fn followed(&self, user: UserId) -> Result<Vec<(ConversationId, Seq)>, StoreError> {
        self.presence.followed(user).await
    }

    /// Those of these users whom `by` may watch.
    pub async fn visible(&self, by: UserId, users: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let visible = self.presence.visible(by, users).await?;
        Ok(visible.into_iter().map(|event| event.user_id).collect())
    }

    /// Everything that other nodes tell is heard, for this long. Until it is said for the first time there are none.
    pub fn trust_for(&self, time: Duration) {
        self.conversations.trust_for(time);
    }

    /// Something that other nodes told may have been lost.
    pub fn doubt(&self) {
        self.conversations.doubt();
    }
}
