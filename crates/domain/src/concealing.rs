//! Deleting for oneself: conceals messages from one member, on every node.

use std::sync::Arc;

use godwit_protocol::UserId;

use crate::conversations::{Conversations, Hint, Live};
use crate::model::Concealed;
use crate::ports::{Delivery, Peers};

#[derive(Debug)]
pub struct Concealing {
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) delivery: Arc<dyn Delivery>,
    pub(crate) peers: Arc<dyn Peers>,
}

impl Concealing {
    /// Call this after the store has written the change. When it returns, nothing that the user has deleted is delivered to
    /// them any more: appends in progress have finished, and later appends are decided on a state that includes the change.
    pub(crate) async fn conceal(&self, live: &Live, user: UserId, concealed: Concealed) {
        let id = live.id();
        self.conversations.take(id, &Hint::Concealed(user, concealed));
        self.peers.concealed(id, user, concealed).await;
        // Changes only users who already follow the conversation.
        self.delivery.conceal(&[(user, concealed.cleared.next())], id);
        live.queue.settle().await;
        self.peers.settle(id).await;
    }
}
