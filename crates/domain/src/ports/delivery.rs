//! Delivery to open sockets.

use std::sync::Arc;

use async_trait::async_trait;
use godwit_protocol::messages::LogEntry;
use godwit_protocol::socket::{CloseCode, EntryOmitted, Event, PresenceEvent};
use godwit_protocol::{ConversationId, DeviceId, Seq, UserId};
use serde::{Deserialize, Serialize};

/// The users to whom the entries of a conversation are delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// Members, each with the first entry that they see.
    Members(Vec<(UserId, Seq)>),
    /// Users who follow the conversation.
    Followers,
}

/// An entry to be delivered to sockets.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingEntry {
    pub entry: Arc<LogEntry>,
    /// The entry for users who cannot see another message that it refers to. `None` if it refers to none.
    pub less: Option<Box<Less>>,
}

/// An entry without the content of another message.
#[derive(Debug, Clone, PartialEq)]
pub struct Less {
    pub entry: Arc<LogEntry>,
    pub unless: Seeing,
}

/// The users who see a message, looked up before an entry about it is delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seeing {
    /// The `seq` of the message. A user whose history begins later does not see it.
    pub seq: Seq,
    pub hidden_from: HiddenFrom,
}

impl OutgoingEntry {
    /// The event for all users, if too many have hidden the other message. Sending the withheld entry to everybody would be
    /// wrong: users who see the message would miss its content without noticing.
    pub fn omitted(&self, conversation_id: ConversationId) -> Option<Event> {
        let is_omitted = |less: &Less| less.unless.hidden_from == HiddenFrom::TooMany;
        let omitted = EntryOmitted { conversation_id, seq: self.entry.seq };
        self.less.as_deref().filter(|less| is_omitted(less)).map(|_| Event::EntryOmitted(omitted))
    }

    /// The entry for some of the users, if they get another one than the others.
    pub fn less(&self) -> Option<&Less> {
        self.less.as_deref().filter(|less| less.unless.hidden_from != HiddenFrom::TooMany)
    }
}

/// Users who have hidden a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum HiddenFrom {
    These(Vec<UserId>),
    /// Too many users to list. Clients are told of the entry and read it: see [`OutgoingEntry::omitted`].
    TooMany,
}

impl Seeing {
    /// The approximate size of the encoded value.
    pub fn size_bytes(&self) -> usize {
        match &self.hidden_from {
            HiddenFrom::These(users) => 16 + users.len() * 10,
            HiddenFrom::TooMany => 16,
        }
    }

    /// True if a user who sees the conversation from `from` on sees the message.
    pub fn sees(&self, user: UserId, from: Seq) -> bool {
        from <= self.seq
            && match &self.hidden_from {
                HiddenFrom::These(users) => !users.contains(&user),
                HiddenFrom::TooMany => false,
            }
    }
}

/// The open sockets on all nodes.
///
/// Methods that deliver something are hints: they do not wait and may fail, and a client gets what it missed when it
/// resumes. Events for one user arrive on each of the user's sockets in the order of the calls. Methods that take something
/// away return once it is gone from every socket on every reachable node.
#[async_trait]
pub trait Delivery: Send + Sync + std::fmt::Debug {
    /// Sends an event to every socket of every one of these users.
    fn deliver(&self, to: &[UserId], event: &Event);

    /// Sends these entries of a conversation in order, each as an event: the entry, or that it was
    /// [omitted](OutgoingEntry::omitted).
    fn deliver_entries(&self, conversation: ConversationId, entries: &[OutgoingEntry], to: &Audience);

    /// Adds users to the [`Audience::Followers`] of this conversation until their last socket closes. Each user comes with
    /// the first entry that they see. If a user follows already, the later of the two entries counts: a user's sight only
    /// shrinks.
    fn follow(&self, users: &[(UserId, Seq)], conversation: ConversationId);

    /// Hides entries from followers: each user sees nothing before the entry that comes with them any more. Has no effect on
    /// users who do not follow. Applies to this node only; other nodes hear of it through
    /// [`Peers::concealed`](super::Peers::concealed).
    fn conceal(&self, users: &[(UserId, Seq)], conversation: ConversationId);

    async fn unfollow(&self, users: Vec<UserId>, conversation: ConversationId);

    /// Sends the event to the sockets that watch its user.
    fn deliver_presence(&self, event: PresenceEvent);

    /// Stops telling the sockets of `watcher` about `watched`.
    async fn stop_watching(&self, watcher: UserId, watched: UserId);

    /// Closes the sockets of a device. After this returns, they receive nothing more.
    async fn close_device(&self, user: UserId, device: DeviceId, code: CloseCode);

    /// Closes all sockets of a user.
    async fn close_user(&self, user: UserId, code: CloseCode);

    async fn is_online(&self, user: UserId) -> bool;

    /// A socket of this user has opened on this node. After this returns, the node receives everything that any node
    /// delivers to the user, and reads on this node see everything that was appended before.
    async fn arrived(&self, user: UserId);

    /// A socket of this user has closed on this node.
    async fn left(&self, user: UserId);
}
