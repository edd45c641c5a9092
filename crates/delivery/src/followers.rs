//! Sockets of members of large conversations. There can be very many in one, so they are found by their numbers.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use godwit_protocol::ConversationId;

use crate::socket::Socket;

type Sockets = HashMap<u64, Arc<Socket>>;

#[derive(Debug, Default)]
pub(crate) struct Followers {
    sockets: RwLock<HashMap<ConversationId, Sockets>>,
}

impl Followers {
    pub(crate) fn add(&self, conversation: ConversationId, socket: &Arc<Socket>) {
        // Locked first: the socket knows what it follows exactly when it is here.
        let mut sockets = self.write();
        if socket.follow(conversation) {
            sockets.entry(conversation).or_default().insert(socket.id, socket.clone());
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

    pub(crate) fn with(&self, conversation: ConversationId, act: impl FnMut(&Arc<Socket>)) {
        self.read().get(&conversation).into_iter().flat_map(HashMap::values).for_each(act);
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
