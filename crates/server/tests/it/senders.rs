//! Two people who send as fast as possible, until the server stops accepting.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use godwit_client::protocol::messages::Message;
use godwit_client::protocol::{ConversationId, ErrorCode, MessageId};
use godwit_client::{Draft, Http};

use crate::logs::{messages, read_log};
use crate::people::{Person, open_socket, soon};
use crate::process::ServerProcess;

pub(crate) const SENDERS: usize = 8;

/// Two people with many connections, and their acknowledged messages.
pub(crate) struct Load {
    pub(crate) ada: Person,
    bob: Person,
    direct: ConversationId,
    senders: Vec<tokio::task::JoinHandle<Vec<Message>>>,
    acknowledged: Arc<AtomicUsize>,
}

impl Load {
    pub(crate) async fn start(server: &ServerProcess) -> Self {
        let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
        let direct = ada.open_direct(&bob).await;
        let acknowledged = Arc::new(AtomicUsize::new(0));
        let mut senders = Vec::new();
        for number in 0..SENDERS {
            let (http, count) =
                (if number % 2 == 0 { &ada.http } else { &bob.http }.clone(), acknowledged.clone());
            senders.push(tokio::spawn(async move {
                if number < SENDERS / 2 {
                    send_over_http(&http, direct, number, &count).await
                } else {
                    send_over_socket(&http, direct, number, &count).await
                }
            }));
        }
        Self { ada, bob, direct, senders, acknowledged }
    }

    pub(crate) async fn until_acknowledged(&self, enough: usize) {
        soon("messages to be acknowledged", async {
            while self.acknowledged.load(Ordering::Relaxed) < enough {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    /// The acknowledged messages, once nobody can send any more.
    pub(crate) async fn end(self) -> (Person, Person, ConversationId, Vec<Message>) {
        let mut acknowledged = Vec::new();
        for sender in self.senders {
            acknowledged.extend(soon("the senders to give up", sender).await.unwrap());
        }
        (self.ada, self.bob, self.direct, acknowledged)
    }
}

/// Sends until the server stops accepting.
async fn send_over_http(
    http: &Http,
    direct: ConversationId,
    sender: usize,
    count: &AtomicUsize,
) -> Vec<Message> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let draft = Draft::text(format!("{sender}/{number} {}", "x".repeat(500)))
            .client_id(format!("{sender}-{number}"));
        match http.send_message(direct, draft).await {
            Ok(message) => acknowledged.push(message.value),
            Err(error) => {
                let code = error.code();
                let expected = [None, Some(ErrorCode::Unavailable), Some(ErrorCode::ShuttingDown)];
                assert!(expected.contains(&code), "{error}");
                break;
            }
        }
        count.fetch_add(1, Ordering::Relaxed);
    }
    acknowledged
}

async fn send_over_socket(
    http: &Http,
    direct: ConversationId,
    sender: usize,
    count: &AtomicUsize,
) -> Vec<Message> {
    let (socket, mut events) = open_socket(http).await;
    let listening = tokio::spawn(async move { while events.next().await.is_some() {} });
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let draft = Draft::text(format!("{sender}/{number} {}", "x".repeat(500)))
            .client_id(format!("{sender}-{number}"));
        match socket.send(direct, draft).await {
            Ok(message) => acknowledged.push(message),
            Err(error) => {
                assert!([None, Some(ErrorCode::Unavailable)].contains(&error.code()), "{error}");
                break;
            }
        }
        count.fetch_add(1, Ordering::Relaxed);
    }
    listening.abort();
    acknowledged
}

/// Asserts that the log has every acknowledged message exactly once, as it was acknowledged. The read checks for gaps and
/// duplicates.
pub(crate) async fn assert_all_there(http: &Http, direct: ConversationId, acknowledged: &[Message]) {
    let log = read_log(http, direct).await;
    let stored: HashMap<MessageId, &Message> = messages(&log).map(|message| (message.id, message)).collect();
    for message in acknowledged {
        let found =
            stored.get(&message.id).unwrap_or_else(|| panic!("{message:?} was acknowledged and is lost"));
        assert_eq!(
            (found.seq, &found.client_id, &found.text),
            (message.seq, &message.client_id, &message.text)
        );
    }
}
