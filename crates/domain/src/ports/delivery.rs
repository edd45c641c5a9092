use godwit_protocol::socket::{CloseCode, Event, PresenceEvent};
use godwit_protocol::{ConversationId, DeviceId, UserId};

/// Open sockets, wherever they are.
///
/// Delivery is a hint, never the truth: it does not wait, it may fail, and what it loses is found by resuming. Events
/// given to it one after the other for one user arrive in that order on each of the user's sockets.
pub trait Delivery: Send + Sync + std::fmt::Debug {
    /// Sends an event to every socket of every one of these users.
    fn deliver(&self, to: &[UserId], event: &Event);

    /// Sends an event to every socket of every user who follows the conversation.
    fn deliver_to_followers(&self, conversation: ConversationId, event: &Event);

    /// From now on the user, if they are connected, gets what is delivered to the followers of this conversation, until
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
