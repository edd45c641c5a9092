//! Followers: sockets of members of large conversations. A conversation may have very many, so they are indexed
//! by their numbers.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use godwit_protocol::{ConversationId, Seq};

use crate::socket::Socket;

/// Each with the first entry that its owner may see.
type Sockets = HashMap<u64, (Arc<Socket>, Seq)>;

#[derive(Debug, Default)]
pub(crate) struct Followers {
    sockets: RwLock<HashMap<ConversationId, Sockets>>,
}

impl Followers {
    /// Adds a socket, or updates one that already follows, because its owner may see fewer entries by now. The
    /// first visible entry never moves back, even if the caller read it before the owner cleared the
    /// conversation.
    pub(crate) fn add(&self, conversation: ConversationId, socket: &Arc<Socket>, from: Seq) {
        // Locked first, so that the socket and this map always agree.
        let mut sockets = self.write();
        socket.follow(conversation);
        let followers = sockets.entry(conversation).or_default();
        let (_, first) = followers.entry(socket.id).or_insert_with(|| (socket.clone(), from));
        *first = from.max(*first);
    }

    /// Hides the entries before this one from a socket. Does nothing if the socket does not follow.
    pub(crate) fn conceal(&self, conversation: ConversationId, socket: &Socket, from: Seq) {
        let mut sockets = self.write();
        let follower = sockets.get_mut(&conversation).and_then(|followers| followers.get_mut(&socket.id));
        if let Some((_, first)) = follower {
            *first = from.max(*first);
        }
    }

    pub(crate) fn remove(&self, conversation: ConversationId, socket: &Socket) {
        let mut sockets = self.write();
        socket.unfollow(conversation);
        if let Some(followers) = sockets.get_mut(&conversation) {
            followers.remove(&socket.id);
            if followers.is_empty() {
                sockets.remove(&conversation);
            }
        }
    }

    pub(crate) fn with(&self, conversation: ConversationId, mut act: impl FnMut(&Socket, Seq)) {
        let sockets = self.read();
        let followers = sockets.get(&conversation).into_iter().flat_map(HashMap::values);
        followers.for_each(|(socket, from)| act(socket, *from));
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<ConversationId, Sockets>> {
        self.sockets.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<ConversationId, Sockets>> {
        self.sockets.write().unwrap_or_else(PoisonError::into_inner)
    }
}
