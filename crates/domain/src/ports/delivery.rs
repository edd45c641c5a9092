use std::sync::Arc;

use async_trait::async_trait;
use godwit_protocol::messages::LogEntry;
use godwit_protocol::socket::{CloseCode, Event, PresenceEvent};
use godwit_protocol::{ConversationId, DeviceId, Seq, UserId};
use serde::{Deserialize, Serialize};

/// Who is told of the entries of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// Members, each with the first entry that they see.
    Members(Vec<(UserId, Seq)>),
    /// Those who follow the conversation.
    Followers,
}

/// An entry on its way to sockets.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingEntry {
    pub entry: Arc<LogEntry>,
    /// Where it shows something of another message: what those get who cannot see that one.
    pub less: Option<Box<Less>>,
}

/// An entry without what it shows of another message.
#[derive(Debug, Clone, PartialEq)]
pub struct Less {
    pub entry: Arc<LogEntry>,
    pub unless: Seeing,
}

/// Who sees a message, as far as that was looked up before an entry about it was delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seeing {
    /// Where it is. Who sees the conversation from a later entry on does not see it.
    pub seq: Seq,
    pub hidden_from: HiddenFrom,
}

impl OutgoingEntry {
    /// Whether it cannot be delivered, because it is not known who sees all of it.
    pub fn is_for_each_to_read(&self) -> bool {
        self.less.as_ref().is_some_and(|less| less.unless.hidden_from == HiddenFrom::TooMany)
    }
}

/// Those who have hidden a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum HiddenFrom {
    These(Vec<UserId>),
    /// They are too many to be named. The entry is not delivered: clients find that one is missing, and read it.
    TooMany,
}

impl Seeing {
    /// About how long it is when it is written.
    pub fn size_bytes(&self) -> usize {
        match &self.hidden_from {
            HiddenFrom::These(users) => 16 + users.len() * 10,
            HiddenFrom::TooMany => 16,
        }
    }

    /// Whether a user sees it who sees the conversation from this entry on.
    pub fn sees(&self, user: UserId, from: Seq) -> bool {
        from <= self.seq
            && match &self.hidden_from {
                HiddenFrom::These(users) => !users.contains(&user),
                HiddenFrom::TooMany => false,
            }
    }
}

/// Open sockets, wherever they are.
///
/// What brings something is a hint, never the truth: it does not wait, it may fail, and what it loses is found by
/// resuming. Events given to it one after the other for one user arrive in that order on each of the user's sockets.
/// What takes something away returns when that holds for all sockets, on every node that can be reached.
#[async_trait]
pub trait Delivery: Send + Sync + std::fmt::Debug {
    /// Sends an event to every socket of every one of these users.
    fn deliver(&self, to: &[UserId], event: &Event);

    /// Sends each of these entries of a conversation, in their order, as an event.
    fn deliver_entries(&self, conversation: ConversationId, entries: &[OutgoingEntry], to: &Audience);

    /// From now on those of the users who are connected are among the [`Audience::Followers`] of this conversation, until
    /// their last socket is closed. Each comes with the first entry that they see. Of two the later one
    /// counts, as long as they follow: what somebody sees only gets less.
    fn follow(&self, users: &[(UserId, Seq)], conversation: ConversationId);

    async fn unfollow(&self, users: &[UserId], conversation: ConversationId);

    /// Tells the sockets that watch this user.
    fn deliver_presence(&self, event: PresenceEvent);

    /// The sockets of `watcher` are no longer told about `watched`.
    async fn stop_watching(&self, watcher: UserId, watched: UserId);

    /// Closes the sockets of a device. When it returns nothing more is delivered to them.
    async fn close_device(&self, user: UserId, device: DeviceId, code: CloseCode);

    /// Closes all sockets of a user.
    async fn close_user(&self, user: UserId, code: CloseCode);

    async fn is_online(&self, user: UserId) -> bool;

    /// A socket of this user has opened here. When it returns, what is delivered to them from now on, by any node, comes
    /// here; and what was appended before is seen by who reads here.
    async fn arrived(&self, user: UserId);

    /// A socket of this user has closed here.
    async fn left(&self, user: UserId);
}
