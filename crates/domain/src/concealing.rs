//! Takes what somebody has deleted for themselves out of their sight, on every node.

use std::sync::Arc;

use godwit_protocol::UserId;

use crate::conversations::{Conversations, Live};
use crate::model::{Concealed, ConversationState};
use crate::ports::{Delivery, Peers, StoreError};

#[derive(Debug)]
pub struct Concealing {
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) delivery: Arc<dyn Delivery>,
    pub(crate) peers: Arc<dyn Peers>,
}

impl Concealing {
    /// The store has it already. When this returns, nothing that is out of the user's sight is delivered to them any more:
    /// what was being appended is finished, and what is appended from now on is decided on a state that knows.
    pub(crate) async fn conceal(
        &self,
        live: &Live,
        user: UserId,
        concealed: Concealed,
    ) -> Result<(), StoreError> {
        let id = live.id();
        self.conversations.conceal(id, user, concealed);
        self.peers.concealed(id, user, concealed).await;
        if !live.read(ConversationState::is_whole)
            && let Some(member) = self.conversations.stored_member(id, user).await?
        {
            self.delivery.follow(&[(user, member.history_from())], id);
        }
        live.outbox.settle().await;
        self.peers.settle(id).await;
        Ok(())
    }
}
