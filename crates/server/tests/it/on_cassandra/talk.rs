//! People who send continuously despite all faults, and the checks afterwards.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use godwit_client::protocol::ConversationId;
use godwit_client::protocol::messages::{Message, SendMessage};
use godwit_client::{Draft, Http};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::logs::{messages, read_log, same};
use crate::people::{Person, soon};

/// The pause between two attempts for the same message.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A conversation in which both sides send one message after the other, each with retries until it is acknowledged.
pub(super) struct Talk {
    pub(super) people: [Person; 2],
    pub(super) chat: ConversationId,
    acknowledged: Arc<AtomicUsize>,
    /// The number of attempts without success.
    failed: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
    senders: Vec<JoinHandle<Vec<Message>>>,
}

impl Talk {
    pub(super) async fn start(people: [Person; 2]) -> Self {
        let chat = people[0].open_direct(&people[1]).await;
        let mut talk = Self {
            people,
            chat,
            acknowledged: Arc::default(),
            failed: Arc::default(),
            stopped: Arc::default(),
            senders: Vec::new(),
        };
        talk.senders =
            talk.people.iter().map(|person| tokio::spawn(talk.send_on(person.http.clone()))).collect();
        talk
    }

    fn send_on(&self, http: Http) -> impl Future<Output = Vec<Message>> + use<> {
        let (chat, acknowledged, failed, stopped) =
            (self.chat, self.acknowledged.clone(), self.failed.clone(), self.stopped.clone());
        async move {
            let mut sent = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let message: SendMessage = Draft::text(format!("message {}", sent.len())).into();
                loop {
                    match http.send_message(chat, message.clone()).await {
                        Ok(message) => {
                            sent.push(message.value);
                            acknowledged.fetch_add(1, Ordering::Relaxed);
                            break;
                        }
                        Err(error) => {
                            assert!(
                                error.is_temporary(),
                                "a send that cannot be made now is refused for now: {error:?}"
                            );
                            failed.fetch_add(1, Ordering::Relaxed);
                            sleep(AGAIN_AFTER).await;
                        }
                    }
                }
            }
            sent
        }
    }

    pub(super) fn failed(&self) -> usize {
        self.failed.load(Ordering::Relaxed)
    }

    /// Waits until this many more messages have been acknowledged.
    pub(super) async fn go_on_for(&self, messages: usize) {
        let goal = self.acknowledged.load(Ordering::Relaxed) + messages;
        let reached = async {
            while self.acknowledged.load(Ordering::Relaxed) < goal {
                sleep(Duration::from_millis(20)).await;
            }
        };
        soon("messages to be acknowledged", reached).await;
    }

    /// Checks that the log has every acknowledged message exactly once, as it was acknowledged, and nothing else.
    pub(super) async fn stop_and_check(self) -> usize {
        self.stopped.store(true, Ordering::Relaxed);
        let mut acknowledged = HashMap::new();
        for sender in self.senders {
            let sent = soon("a sender to finish", sender).await.unwrap();
            acknowledged.extend(sent.into_iter().map(|message| (message.id, same(message))));
        }
        for person in &self.people {
            let log = read_log(&person.http, self.chat).await;
            let stored: HashMap<_, _> = messages(&log).map(|message| (message.id, message.clone())).collect();
            assert_eq!(stored.len(), acknowledged.len(), "as many messages as were sent");
            assert!(stored == acknowledged, "the log has what was acknowledged");
        }
        acknowledged.len()
    }
}
