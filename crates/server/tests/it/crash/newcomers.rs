//! Conversations that are created during a kill.

use godwit_client::Draft;
use godwit_client::protocol::ConversationId;
use godwit_client::protocol::messages::Message;

use super::load::assert_unanswered;
use crate::logs::{messages, read_log, same};
use crate::people::Person;

/// Two people without a conversation, who are about to create one.
pub(super) struct Newcomers {
    people: [Person; 2],
    opened: Vec<ConversationId>,
    first: Option<Message>,
}

impl Newcomers {
    /// Both open the conversation at once, and one of them sends a message.
    pub(super) async fn meet(one: Person, other: Person) -> Self {
        let (mine, theirs) = tokio::join!(one.http.direct(other.id), other.http.direct(one.id));
        let opened: Vec<_> = [mine, theirs]
            .into_iter()
            .filter_map(|opened| opened.inspect_err(assert_unanswered).ok())
            .map(|opened| opened.id)
            .collect();
        let first = match opened.first() {
            Some(chat) => one.http.send_message(*chat, hello()).await.inspect_err(assert_unanswered).ok(),
            None => None,
        };
        Self { people: [one, other], opened, first: first.map(|sent| sent.value) }
    }

    /// Checks that there is one conversation with one first message, and that both see it.
    pub(super) async fn check(self) {
        let [one, other] = &self.people;
        let chat = one.open_direct(other).await;
        assert_eq!(other.open_direct(one).await, chat);
        assert!(self.opened.iter().all(|opened| *opened == chat), "a conversation that was opened is there");
        let sent = one.http.send_message(chat, hello()).await.unwrap();
        if let Some(first) = self.first {
            assert_eq!((sent.is_new, same(sent.value)), (false, same(first)));
        }
        let log = read_log(&other.http, chat).await;
        assert_eq!((log.len(), messages(&log).count()), (2, 1));
        for person in &self.people {
            let inbox = person.http.conversations(None, None).await.unwrap().conversations;
            assert_eq!(inbox.iter().filter(|row| row.id == chat).count(), 1, "it is in both inboxes, once");
        }
    }
}

fn hello() -> Draft {
    Draft::text("hello").client_id("the-first")
}
