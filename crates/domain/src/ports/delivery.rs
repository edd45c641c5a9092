use std::sync::Arc;

use godwit_protocol::messages::LogEntry;
use godwit_protocol::socket::{CloseCode, Event, PresenceEvent};
use godwit_protocol::{ConversationId, DeviceId, Seq, UserId};

/// Who is told of the entries of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// Members, each with the first entry that they see.
    Members(Vec<(UserId, Seq)>),
    /// Those who follow the conversation.
    Followers,
}

/// Open sockets, wherever they are.
///
/// Delivery is a hint, never the truth: it does not wait, it may fail, and what it loses is found by resuming. Events
/// given to it one after the other for one user arrive in that order on each of the user's sockets.
pub trait Delivery: Send + Sync + std::fmt::Debug {
    /// Sends an event to every socket of every one of these users.
    fn deliver(&self, to: &[UserId], event: &Event);

    /// Sends each of these entries of a conversation, in their order, as an event.
    fn deliver_entries(&self, conversation: ConversationId, entries: &[Arc<LogEntry>], to: &Audience);

    /// From now on the user, if they are connected, is among the [`Audience::Followers`] of this conversation, until
    /// their last socket is closed.
    fn follow(&self, user: UserId, conversation: ConversationId);

    fn unfollow(&self, user: UserId, conversation: ConversationId);

    /// Tells the sockets that watch this user.
    fn deliver_presence(&self, event: PresenceEvent);

    /// The sockets of `watcher` are no longer told about `watched`.
    fn stop_watching(&self, watcher: UserId, watched: UserId);

    /// Closes the sockets of a device. When it returns nothing more is delivered to them.
    fn close_device(&self, user: UserId, device: DeviceId, code: CloseCode);

    /// Closes all sockets of a user.
    fn close_user(&self, user: UserId, code: CloseCode);

    fn is_online(&self, user: UserId) -> bool;
}
