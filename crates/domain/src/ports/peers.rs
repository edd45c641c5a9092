//! The other servers on the same store.

use async_trait::async_trait;
use godwit_protocol::{ConversationId, UserId};

use super::{Append, CursorMove};
use crate::actions::{Action, Done, Refusal};
use crate::model::Concealed;

/// The other servers on the same store.
///
/// Correctness does not depend on them: the store alone decides which entries a log has. Servers tell each other about
/// changes so that their caches stay fresh, and forward the actions of one conversation to one server so that appends do not
/// conflict.
#[async_trait]
pub trait Peers: Send + Sync + std::fmt::Debug {
    /// Forwards an action to the server that prefers its conversation. `None` if that is this server, or if it is not
    /// reachable. Actions that are forwarded one after the other arrive in that order.
    fn forward(
        &self,
        actor: UserId,
        conversation: ConversationId,
        action: &Action,
    ) -> Option<ForwardedAction>;

    /// Tells the other servers about an append. Does not wait.
    fn appended(&self, append: &Append);

    /// Tells the other servers about an append that takes something away from a user. Returns when every reachable server
    /// knows.
    async fn withdrawn(&self, append: &Append);

    /// Tells the other servers about moved cursors. Does not wait.
    fn cursors_moved(&self, moves: &[CursorMove]);

    /// Tells the other servers what a member has concealed. Returns when every reachable server knows, and has told those of
    /// its sockets that follow the conversation.
    async fn concealed(&self, conversation: ConversationId, user: UserId, concealed: Concealed);

    /// Returns when every append to a conversation that was in progress at the time of the call has finished, on every
    /// reachable server.
    async fn settle(&self, conversation: ConversationId);

    /// Like [`settle`](Self::settle) for all conversations.
    async fn settle_all(&self);
}

/// The pending result of an action on another server; `Err` if the result is unknown.
pub type ForwardedAction =
    std::pin::Pin<Box<dyn Future<Output = Result<Result<Done, Refusal>, Unanswered>> + Send>>;

/// Why another server did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// The request was not sent.
    NotAsked,
    /// The request was sent. The other server may have executed it, or may still do so.
    Unknown,
}

/// A server without other servers.
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
