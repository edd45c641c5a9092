//! The application's end of a live session.

use std::fmt;
use std::sync::Arc;

use godwit_protocol::conversations::Conversation;
use godwit_protocol::messages::Change;
use godwit_protocol::socket::EntryEvent;
use tokio::sync::mpsc;

use super::control::Control;
use super::queue::{Item, Queue};
use super::{ResumeState, Update};

/// The updates of a [`Live`](super::Live) session, in order.
pub struct Updates {
    queue: Arc<Queue>,
    state: ResumeState,
    acknowledges: bool,
    /// The session lives as long as one of its handles.
    _alive: mpsc::Sender<Control>,
}

impl Updates {
    pub(super) fn new(
        queue: Arc<Queue>,
        state: ResumeState,
        acknowledges: bool,
        alive: mpsc::Sender<Control>,
    ) -> Self {
        Self { queue, state, acknowledges, _alive: alive }
    }

    /// The next update; `None` after the session has stopped. Cancel-safe.
    ///
    /// Taking an entry counts as receiving it: the session acknowledges it to the server and does not deliver it again.
    pub async fn next(&mut self) -> Option<Update> {
        loop {
            match self.queue.next().await? {
                Item::Update(update) => {
                    self.state.note(&update);
                    self.acknowledge(&update);
                    return Some(update);
                }
                Item::Begin(id, seq) => drop(self.state.seen.insert(id, seq)),
                Item::Token(token) => self.state.token = Some(token),
            }
        }
    }

    /// The position after the last update that the application took. Store it together with the results of that update, and
    /// another process continues exactly there.
    pub fn state(&self) -> &ResumeState {
        &self.state
    }

    fn acknowledge(&self, update: &Update) {
        match update {
            _ if !self.acknowledges => {}
            Update::Entry(event) if self.is_own(event) => self.queue.known(event.conversation_id),
            Update::Entry(event) => self.queue.taken(event.conversation_id, event.entry.seq),
            Update::Conversation(conversation) => self.acknowledge_again(conversation),
            _ => {}
        }
    }

    /// Sending a message moves the sender's cursors to it.
    fn is_own(&self, event: &EntryEvent) -> bool {
        matches!(&event.entry.change, Change::Message { message } if Some(&message.sender_id) == self.queue.me.get())
    }

    /// Acknowledges entries that were taken earlier: the previous process may have ended before it acknowledged them. On a
    /// first start, the conversation itself delivers the content of its entries.
    fn acknowledge_again(&self, conversation: &Conversation) {
        let Some(seen) = self.state.seen.get(&conversation.id) else { return };
        if conversation.me.delivered < *seen {
            self.queue.taken(conversation.id, *seen);
        }
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates").field("state", &self.state).finish_non_exhaustive()
    }
}
