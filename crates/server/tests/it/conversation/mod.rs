//! Conversations of two users with several devices each, over real sockets.

mod blocks;
mod delivery;
mod history;
mod inbox;
mod presence;
mod receipts;

use godwit_client::protocol::ConversationId;

use crate::people::Person;
use crate::process::ServerProcess;
use crate::unlimited::unlimited;

/// A server with two people and their conversation.
struct Stage {
    ada: Person,
    bob: Person,
    chat: ConversationId,
    server: ServerProcess,
}

impl Stage {
    async fn new() -> Self {
        let server = unlimited().await;
        let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
        let chat = ada.open_direct(&bob).await;
        Self { ada, bob, chat, server }
    }

    /// Stops the server gracefully and starts it again.
    async fn restart(&mut self) {
        self.server.stop().await;
        self.server.start_again().await;
        for person in [&mut self.ada, &mut self.bob] {
            person.follow(&self.server.url());
        }
    }

    async fn stranger(&self) -> Person {
        Person::register(&self.server.url(), "eve").await
    }
}
