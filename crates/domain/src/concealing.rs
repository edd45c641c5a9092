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
    /// Call it after the store has written the change. When this returns, nothing that the user has deleted is delivered to
    /// them any more: appends that were under way are finished, and later appends are decided on a state that knows of it.
    pub(crate) async fn conceal(&self, live: &Live, user: UserId, concealed: Concealed) {
        let id = live.id();
        self.conversations.take(id, &Hint::Concealed(user, concealed));
        self.peers.concealed(id, user, concealed).await;
        // Who does not follow, or not any more, does not begin to because of it.
        self.delivery.conceal(&[(user, concealed.cleared.next())], id);
        live.queue.settle().await;
        self.peers.settle(id).await;
    }
}
