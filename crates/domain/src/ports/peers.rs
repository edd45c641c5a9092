use async_trait::async_trait;
use godwit_protocol::{ConversationId, UserId};

use super::{Append, CursorMove};
use crate::actions::{Action, Done, Refusal};
use crate::model::Concealed;

/// The other servers on the same store.
///
/// None of them is needed for anything to be right: what a log has is settled by the store. They are told what has changed
/// so that what they have in memory is as new as what is stored, and asked to append so that appends to one conversation
/// do not get into each other's way.
#[async_trait]
pub trait Peers: Send + Sync + std::fmt::Debug {
    /// Hands an action to the server that prefers its conversation. `None` when that is this one, or cannot be reached.
    /// Actions that are handed over one after the other arrive there in that order.
    fn forward(
        &self,
        actor: UserId,
        conversation: ConversationId,
        action: &Action,
    ) -> Option<ForwardedAction>;

    /// Tells them what was appended. Does not wait.
    fn appended(&self, append: &Append);

    /// The same where it takes something away from somebody: returns when every server that can be reached knows.
    async fn withdrawn(&self, append: &Append);

    /// Tells them of cursors that have moved. Does not wait.
    fn cursors_moved(&self, moves: &[CursorMove]);

    /// Tells them what a member has deleted for themselves: returns when every server that can be reached knows, and so do the
    /// sockets there that follow the conversation.
    async fn concealed(&self, conversation: ConversationId, user: UserId, concealed: Concealed);

    /// Returns when what was being appended to a conversation at the time of the call is finished on every server that can
    /// be reached.
    async fn settle(&self, conversation: ConversationId);

    /// The same for all conversations.
    async fn settle_all(&self);
}

/// What will come of an action on another server; `Err` when that is not known.
pub type ForwardedAction =
    std::pin::Pin<Box<dyn Future<Output = Result<Result<Done, Refusal>, Unanswered>> + Send>>;

/// Why another server did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// It was not asked.
    NotAsked,
    /// It may have done what it was asked, or may still do it.
    Unknown,
}

/// There are none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPeers;

#[async_trait]
impl Peers for NoPeers {
    fn forward(&self, _: UserId, _: ConversationId, _: &Action) -> Option<ForwardedAction> {
        None
    }

    fn appended(&self, _: &Append) {}

    async fn withdrawn(&self, _: &Append) {}

    fn cursors_moved(&self, _: &[CursorMove]) {}

    async fn concealed(&self, _: ConversationId, _: UserId, _: Concealed) {}

    async fn settle(&self, _: ConversationId) {}

    async fn settle_all(&self) {}
}
