//! A message that is sent many times is stored once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{join_all, try_join_all};
use godwit_client::protocol::ConversationId;
use godwit_client::protocol::messages::Message;
use godwit_client::{Draft, Http, Socket};
use tokio::sync::Barrier;

use crate::logs::{messages, read_log, same};
use crate::people::{Person, open_socket, same_session, soon};
use crate::unlimited::unlimited;

/// Concurrent connections, half of them HTTP and half of them sockets.
const CONNECTIONS: usize = 32;
const KEYS: usize = 8;

enum Connection {
    Http(Http),
    Socket(Socket),
}

/// The answer on one of the connections.
struct Answer {
    message: Message,
    /// A socket does not report whether the message existed before.
    is_new: Option<bool>,
}

impl Connection {
    async fn send(&self, chat: ConversationId, draft: Draft) -> Answer {
        match self {
            Self::Http(http) => {
                let sent = http.send_message(chat, draft).await.unwrap();
                Answer { message: sent.value, is_new: Some(sent.is_new) }
            }
            Self::Socket(socket) => Answer { message: socket.send(chat, draft).await.unwrap(), is_new: None },
        }
    }
}

/// Connections of two devices of one user, opened before the test begins.
async fn connect(person: &Person) -> Vec<Arc<Connection>> {
    let mut connections = Vec::new();
    for name in ["phone", "laptop"] {
        let (_, http) = person.sign_in(name).await;
        for _ in 0..CONNECTIONS / 4 {
            let own = same_session(&http, http.base_url());
            own.me().await.unwrap();
            connections.push(Arc::new(Connection::Http(own)));
            connections.push(Arc::new(Connection::Socket(open_socket(&http).await.0)));
        }
    }
    assert_eq!(connections.len(), CONNECTIONS);
    connections
}

/// Sends with one client id on all connections at once, each with a different text.
async fn send_at_once(connections: &[Arc<Connection>], chat: ConversationId, key: &str) -> Vec<Answer> {
    let barrier = Arc::new(Barrier::new(connections.len()));
    let sends = connections.iter().enumerate().map(|(number, connection)| {
        let (barrier, connection) = (barrier.clone(), connection.clone());
        let draft = Draft::text(format!("{key} from connection {number}")).client_id(key);
        tokio::spawn(async move {
            barrier.wait().await;
            connection.send(chat, draft).await
        })
    });
    let answers = soon("all answers", join_all(sends)).await;
    answers.into_iter().map(Result::unwrap).collect()
}

/// Sends until it is told to stop.
async fn chatter(socket: Socket, chat: ConversationId, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        try_join_all((0..16).map(|_| socket.send(chat, Draft::text("and so on")))).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_sends_with_one_client_id_create_one_message_even_after_a_restart() {
    let mut server = unlimited().await;
    let [mut ada, mut bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let chat = ada.open_direct(&bob).await;
    let mut originals = Vec::<Message>::new();
    let connections = connect(&ada).await;
    // With other traffic, sends wait for each other and are stored as batches.
    let stop = Arc::new(AtomicBool::new(false));
    let traffic = tokio::spawn(chatter(open_socket(&bob.http).await.0, chat, stop.clone()));
    for number in 0..KEYS {
        let answers = send_at_once(&connections, chat, &format!("key-{number}")).await;
        let original = same(answers[0].message.clone());
        assert!(answers.iter().all(|answer| same(answer.message.clone()) == original), "one message for all");
        let new = answers.iter().filter(|answer| answer.is_new == Some(true)).count();
        assert!(new <= 1, "{new} were told that it is new");
        originals.push(original);
    }
    drop(connections);
    stop.store(true, Ordering::Relaxed);
    soon("the others to stop", traffic).await.unwrap();
    let log = read_log(&bob.http, chat).await;
    let own = messages(&log).filter(|message| message.sender_id == ada.id);
    assert!(own.eq(&originals), "each is in the log once");

    for kill in [false, true] {
        if kill {
            server.kill().await;
        } else {
            server.stop().await;
        }
        server.start_again().await;
        ada.follow(&server.url());
        bob.follow(&server.url());
        let connections = connect(&ada).await;
        for original in &originals {
            for answer in send_at_once(&connections, chat, original.client_id.as_ref().unwrap()).await {
                assert_eq!(&same(answer.message), original, "the original, also after a restart");
                assert_ne!(answer.is_new, Some(true));
            }
        }
        assert!(read_log(&bob.http, chat).await == log, "nothing was added");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_belongs_to_its_sender_and_conversation() {
    let server = unlimited().await;
    let url = &server.url();
    let [ada, bob, eve] = Person::register_all(url, ["ada", "bob", "eve"]).await;
    let (chat, other) = (ada.open_direct(&bob).await, ada.open_direct(&eve).await);
    let send = |by: &Person, chat, text: &str| {
        let (http, draft) = (by.http.clone(), Draft::text(text).client_id("the-same"));
        async move { http.send_message(chat, draft).await.unwrap() }
    };
    let first = send(&ada, chat, "from ada").await;
    for (by, chat) in [(&bob, chat), (&ada, other), (&eve, other)] {
        let sent = send(by, chat, "another").await;
        assert!(sent.is_new && sent.id != first.id);
    }
    let again = send(&ada, chat, "another text").await;
    assert_eq!(
        (again.is_new, again.text.as_deref()),
        (false, Some("from ada")),
        "the original, whatever came"
    );
}
