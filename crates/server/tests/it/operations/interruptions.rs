use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use godwit_client::protocol::messages::Message;
use godwit_client::protocol::socket::CloseCode;
use godwit_client::protocol::{ConversationId, ErrorCode, MessageId};
use godwit_client::{Draft, Http};
use rustix::process::Signal;
use serde_json::json;

use crate::logs::{messages, read_log};
use crate::people::{Person, open_socket, soon};
use crate::process::ServerProcess;
use crate::raw_socket::{Ended, RawSocket};
use crate::unlimited::unlimited;

const SENDERS: usize = 8;

/// Two who talk over many connections, and what was acknowledged to them.
struct Load {
    ada: Person,
    bob: Person,
    direct: ConversationId,
    senders: Vec<tokio::task::JoinHandle<Vec<Message>>>,
    acknowledged: Arc<AtomicUsize>,
}

impl Load {
    async fn start(server: &ServerProcess) -> Self {
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

    async fn until_acknowledged(&self, enough: usize) {
        soon("messages to be acknowledged", async {
            while self.acknowledged.load(Ordering::Relaxed) < enough {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    /// What was acknowledged, when nobody can send any more.
    async fn end(self) -> (Person, Person, ConversationId, Vec<Message>) {
        let mut acknowledged = Vec::new();
        for sender in self.senders {
            acknowledged.extend(soon("the senders to give up", sender).await.unwrap());
        }
        (self.ada, self.bob, self.direct, acknowledged)
    }
}

/// Sends until the server does not take any more.
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

/// All that was acknowledged is in the log, as it was acknowledged and once. The log is checked for gaps and duplicates
/// as it is read.
async fn assert_all_there(http: &Http, direct: ConversationId, acknowledged: &[Message]) {
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

#[tokio::test]
async fn a_stop_finishes_what_is_under_way_and_tells_sockets_to_come_back() {
    let mut server = unlimited().await;
    let load = Load::start(&server).await;
    let mut listening = RawSocket::open(server.address(), load.ada.http.access_token().as_deref()).await;
    let mut anonymous = RawSocket::open(server.address(), None).await;
    load.until_acknowledged(200).await;
    let closes = tokio::spawn(async move { (listening.until_end().await, anonymous.until_end().await) });
    server.signal(Signal::TERM);
    let status = server.wait().await;
    assert_eq!(status.code(), Some(0), "{}", server.stderr());
    let (signed_in, anonymous) = soon("the sockets to be closed", closes).await.unwrap();
    for (said, ended) in [signed_in, anonymous] {
        assert_eq!(ended, Ended::Closed(CloseCode::ServiceRestart));
        let wait = &said.last().unwrap()["reconnect"]["after_ms"];
        assert!(wait.as_u64().is_some_and(|wait| wait <= 5_000), "{said:?}");
    }
    let (mut ada, _, direct, acknowledged) = load.end().await;
    server.start_again().await;
    ada.follow(&server.url());
    assert_all_there(&ada.http, direct, &acknowledged).await;
}

/// Writes fail at some byte of some record, as they do when a disk is full.
#[tokio::test]
async fn a_full_disk_loses_nothing_that_was_acknowledged() {
    for limit_bytes in [100_000, 131_072, 200_003] {
        let mut server = unlimited().await;
        let load = Load::start(&server).await;
        let mut listening = RawSocket::open(server.address(), load.ada.http.access_token().as_deref()).await;
        load.until_acknowledged(10).await;
        server.limit_files(limit_bytes);
        let status = server.wait().await;
        assert!(status.code().is_some_and(|code| code != 0), "{status}");
        let log = server.stderr();
        assert_eq!(
            log.lines().filter(|line| line.starts_with("error: the store has failed")).count(),
            1,
            "{log}"
        );
        assert!(!log.contains("panicked"), "{log}");
        let (_, ended) = listening.until_end().await;
        assert!([Ended::Closed(CloseCode::ServiceRestart), Ended::Dropped].contains(&ended), "{ended:?}");

        let (mut ada, mut bob, direct, acknowledged) = load.end().await;
        assert!(acknowledged.len() >= 10);
        server.start_again().await;
        ada.follow(&server.url());
        bob.follow(&server.url());
        assert_all_there(&ada.http, direct, &acknowledged).await;
        // Whoever got no answer sends it again, and whoever got one gets the original.
        for message in acknowledged.iter().rev().take(SENDERS) {
            let sender = if message.sender_id == ada.id { &ada.http } else { &bob.http };
            let again = sender
                .send_message(direct, Draft::text("again").client_id(&message.client_id))
                .await
                .unwrap();
            assert!(!again.is_new && again.id == message.id, "{again:?}");
        }
        ada.http.send_message(direct, Draft::text("and on it goes")).await.unwrap();
        server.stop().await;
    }
}

/// With nobody sending: the server notices at the next write, says so, and does not claim to have done it.
#[tokio::test]
async fn on_a_full_disk_nothing_is_claimed() {
    let mut server = unlimited().await;
    let [mut ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let direct = ada.open_direct(&bob).await;
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    server.fill_disk();
    let send = json!({ "conversation_id": direct, "client_id": "lost", "kind": "text", "text": "lost" });
    let id = socket.post("send", send).await;
    let (said, _) = socket.until_end().await;
    for frame in said {
        assert!(frame.get("entry").is_none(), "it was delivered: {frame}");
        assert!(frame["id"] != id || frame["error"]["code"] == "unavailable", "it was acknowledged: {frame}");
    }
    assert_eq!(server.wait().await.code(), Some(1));
    server.start_again().await;
    ada.follow(&server.url());
    assert_eq!(read_log(&ada.http, direct).await.len(), 1);
    let sent = ada.http.send_message(direct, Draft::text("not lost").client_id("lost")).await.unwrap();
    assert!(sent.is_new);
}
