//! Slow readers: they are disconnected, cost little memory, do not affect others, and get everything after they reconnect.

use std::iter;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use godwit_client::protocol::limits::{PAGE_BYTES_MAX, PAGE_MAX, TEXT_CHARS_MAX};
use godwit_client::protocol::messages::{Change, LogPage};
use godwit_client::protocol::socket::{CloseCode, EntryEvent, Event};
use godwit_client::protocol::{ConversationId, Seq};
use godwit_client::{Closed, Draft, Error, Events, Http, Socket, SocketConfig};
use tokio::task::JoinHandle;

use crate::follower::Follower;
use crate::logs::read_log;
use crate::people::{Person, open_socket, same_session, socket_config, soon};
use crate::process::ServerProcess;
use crate::store::Enough;
use crate::unlimited::unlimited;
use crate::wire::Wire;

/// Sockets that the server has closed because their readers were too slow.
const SLOW_READERS: &str = "godwit_slow_readers_total";
/// Sockets that are open and signed in.
const SIGNED_IN: &str = "godwit_sockets{state=\"signed_in\"}";
/// Sockets that request much and read nothing.
const STUCK: usize = 16;
/// Concurrent page requests per socket.
const ASKED_AT_ONCE: usize = 64;
/// Messages sent at once: slightly more than the queue of a socket holds.
const BURST: usize = 72;
/// Messages in flight per device until the server disconnects the slow reader. One at a time would take minutes on a
/// cluster.
const IN_FLIGHT: Enough = Enough { embedded: 1, cassandra: 8 };
/// The text of the last message of a test.
const LAST: &str = "still here";
/// How often a disconnected reader may be too late to read the reason.
const TOLD_ATTEMPTS_MAX: usize = 5;
/// The maximum growth in memory for all of them. Buffering all requested pages would take several times as much.
const GROWTH_BYTES_MAX: u64 = 48 * 1024 * 1024;

/// The resident memory of the server's process.
fn resident_bytes(server: &ServerProcess) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kibibytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kibibytes * 1024
}

async fn metric(server: &ServerProcess, name: &str) -> u64 {
    let metrics = server.metrics().await;
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map_or(0, |value| value.parse().unwrap())
}

/// The largest text: each of these characters takes two bytes.
fn large() -> Draft {
    Draft::text("é".repeat(TEXT_CHARS_MAX))
}

/// Fills a conversation, and returns the first page of its log, which is the largest possible frame.
pub(crate) async fn largest_page(by: &Person, chat: ConversationId) -> LogPage {
    // Each of these characters takes one byte, and two when it is escaped.
    let quotes = "\"".repeat(TEXT_CHARS_MAX);
    for _ in 0..=PAGE_BYTES_MAX / TEXT_CHARS_MAX {
        by.http.send_message(chat, Draft::text(&quotes)).await.unwrap();
    }
    let page = by.http.log(chat, Seq::ZERO, Some(PAGE_MAX)).await.unwrap();
    assert!(page.more, "the page is as large as it can be");
    page
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_reader_is_disconnected_and_resumes_without_affecting_others() {
    let server = unlimited().await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let chat = ada.open_direct(&bob).await;
    let wire = Wire::to(server.address()).await;
    let mut slow = bob.clone();
    slow.follow(&wire.url);
    let others = [
        Follower::start("ada's phone", ada.sign_in("phone").await.1),
        Follower::start("ada's laptop", ada.sign_in("laptop").await.1),
        Follower::start("bob's phone", bob.sign_in("phone").await.1),
    ];
    let slow = Follower::start("bob's slow phone", slow.sign_in("slow phone").await.1);
    let first = ada.http.send_message(chat, Draft::text("hello")).await.unwrap();
    for follower in others.iter().chain([&slow]) {
        follower.reaches(chat, first.seq).await;
    }
    let before = resident_bytes(&server);
    wire.stall(true);
    // Full traffic, until the server disconnects the slow reader, and some more.
    soon("the server to lose patience", async {
        while metric(&server, SLOW_READERS).await == 0 {
            let senders = others.iter().flat_map(|follower| iter::repeat_n(follower, IN_FLIGHT.here()));
            try_join_all(senders.map(|follower| follower.live.send(chat, large()))).await.unwrap();
        }
    })
    .await;
    let head = ada.http.send_message(chat, large()).await.unwrap().seq;
    let log = read_log(&ada.http, chat).await;
    assert!(log.len() > 2 && log.last().unwrap().seq == head);
    // The others have everything, and the slow reader does not.
    for follower in others {
        follower.reaches(chat, head).await;
        let name = follower.name.clone();
        let mut followed = follower.finish().await;
        assert!(followed.log(chat) == log, "{name} got exactly the log");
        assert_eq!(followed.connections, 1, "{name} was never disconnected");
    }
    assert!(!slow.has_reached(chat, head), "nothing came through to it");
    assert_eq!(metric(&server, SLOW_READERS).await, 1, "only the one that did not read");
    let grown = resident_bytes(&server).saturating_sub(before);
    println!("the server has grown by {} KiB", grown / 1024);
    assert!(grown < GROWTH_BYTES_MAX, "the server has grown by {grown} bytes");

    wire.stall(false);
    slow.reaches(chat, head).await;
    let mut followed = slow.finish().await;
    assert!(followed.log(chat) == log, "the slow one has exactly the log in the end");
    assert!(followed.connections > 1);
    assert_eq!((followed.resets.len(), followed.all_reset), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disconnected_reader_gets_the_close_reason() {
    let server = unlimited().await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let chat = ada.open_direct(&bob).await;
    for attempt in 1..=TOLD_ATTEMPTS_MAX {
        let wire = Wire::to(server.address()).await;
        let (socket, mut events) = open_socket(&same_session(&bob.http, &wire.url)).await;
        wire.stall(true);
        let before = metric(&server, SLOW_READERS).await;
        soon("the server to lose patience", async {
            while metric(&server, SLOW_READERS).await == before {
                ada.http.send_message(chat, large()).await.unwrap();
            }
        })
        .await;
        wire.stall(false);
        let drain = tokio::spawn(async move { while events.next().await.is_some() {} });
        let closed = soon("the socket to close", socket.wait_closed()).await;
        drain.await.unwrap();
        match &closed {
            Closed::ByServer { .. } => {
                assert_eq!(closed.code(), Some(CloseCode::TooSlow), "{closed:?}");
                let (socket, _events) = open_socket(&bob.http).await;
                let page = socket.log(chat, Seq::ZERO, Some(PAGE_MAX)).await.unwrap();
                assert_eq!(page.entries[0].seq, Seq::new(1), "it can come back and read");
                return;
            }
            // The server waits one second for its close frame to be read, and this machine may be busy.
            lost => println!("attempt {attempt}: {lost:?}"),
        }
    }
    panic!("the server never said why");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_requests_much_and_reads_nothing_uses_bounded_memory() {
    let server = unlimited().await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let chat = ada.open_direct(&bob).await;
    let page = largest_page(&ada, chat).await;
    let page_bytes = serde_json::to_vec(&page).unwrap().len() as u64;
    let page_head = read_log(&ada.http, chat).await.last().unwrap().seq;
    let before = resident_bytes(&server);

    let stuck = join_all((0..STUCK).map(|_| almost_stuck_socket(&bob.http))).await;
    let (adas, mut events) = open_socket(&ada.http).await;
    let heard = tokio::spawn(async move {
        let mut heard = Vec::new();
        while let Some(event) = events.next().await {
            let Event::Entry(EntryEvent { entry, .. }) = event else { continue };
            heard.push(entry.seq.get());
            if matches!(&entry.change, Change::Message { message } if message.text.as_deref() == Some(LAST)) {
                break;
            }
        }
        heard
    });
    for _ in 0..2 {
        adas.typing(chat, true).await.unwrap();
    }
    let asking: Vec<_> = stuck.iter().map(|(socket, _)| ask_for_pages(socket, chat)).collect();
    let asked: usize = asking.iter().map(Vec::len).sum();
    assert!(asked as u64 * page_bytes > 4 * GROWTH_BYTES_MAX, "it would not fit");
    // The server executes no more of their requests until they read; the events meanwhile exceed their queues.
    let mut most = 0;
    soon("the server to lose patience", async {
        // The gauge is updated twice per second.
        while metric(&server, SIGNED_IN).await <= STUCK as u64 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        while metric(&server, SIGNED_IN).await > 1 {
            try_join_all((0..16).map(|_| adas.send(chat, large()))).await.unwrap();
            most = most.max(resident_bytes(&server));
        }
    })
    .await;
    assert!(metric(&server, SLOW_READERS).await > 0);
    // Ada received everything in order, and stayed connected.
    let last = adas.send(chat, Draft::text(LAST)).await.unwrap().seq;
    let heard = soon("her to hear the last message", heard).await.unwrap();
    assert_eq!(heard, (page_head.next().get()..=last.get()).collect::<Vec<_>>());
    let grown = most.saturating_sub(before);
    println!("the server has grown by {} KiB", grown / 1024);
    assert!(grown < GROWTH_BYTES_MAX, "the server has grown by {grown} bytes");

    for (socket, mut events) in stuck {
        // When it reads again, it sees the end; whether the close frame is still there depends on how long it did not read.
        let drain = tokio::spawn(async move { while events.next().await.is_some() {} });
        let closed = soon("the socket to close", socket.wait_closed()).await;
        let told = closed.code() == Some(CloseCode::TooSlow) || matches!(closed, Closed::Lost { .. });
        assert!(told, "{closed:?}");
        drain.await.unwrap();
    }
    asking.into_iter().flatten().for_each(|asked| asked.abort());
    // And it can reconnect and read.
    let (socket, _events) = open_socket(&bob.http).await;
    assert_eq!(socket.log(chat, Seq::ZERO, Some(PAGE_MAX)).await.unwrap().entries, page.entries);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_requests_much_and_reads_gets_everything() {
    const SOCKETS: usize = 2;
    let server = unlimited().await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let chat = ada.open_direct(&bob).await;
    let page = largest_page(&ada, chat).await;
    let sockets = join_all((0..SOCKETS).map(|_| open_socket(&bob.http))).await;
    for asked in sockets.iter().flat_map(|(socket, _)| ask_for_pages(socket, chat)).collect::<Vec<_>>() {
        assert!(soon("a page", asked).await.unwrap().unwrap() == page);
    }
    assert_eq!(metric(&server, SLOW_READERS).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_large_messages_does_not_disconnect_active_readers() {
    let server = unlimited().await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let chat = ada.open_direct(&bob).await;
    let followers = [
        Follower::start("ada's phone", ada.sign_in("phone").await.1),
        Follower::start("bob's phone", bob.sign_in("phone").await.1),
    ];
    for follower in &followers {
        follower.catches_up().await;
    }
    // All of them wait together while the first one is written.
    let sends = (0..BURST).map(|_| ada.http.send_message(chat, large()));
    soon("the burst", try_join_all(sends)).await.unwrap();
    let log = read_log(&ada.http, chat).await;
    for follower in followers {
        follower.reaches(chat, log.last().unwrap().seq).await;
        let name = follower.name.clone();
        let mut followed = follower.finish().await;
        assert_eq!(followed.connections, 1, "{name} was never disconnected");
        assert!(followed.log(chat) == log, "{name} got exactly the log");
    }
    assert_eq!(metric(&server, SLOW_READERS).await, 0);
}

/// A socket that stops reading after two events: one fills the queue, and the other waits.
async fn almost_stuck_socket(http: &Http) -> (Socket, Events) {
    let config = SocketConfig { events_buffered_max: 1, ..socket_config(http) };
    Socket::connect(http.base_url(), config).await.unwrap()
}

/// Requests the same page many times at once.
fn ask_for_pages(socket: &Socket, chat: ConversationId) -> Vec<JoinHandle<Result<LogPage, Error>>> {
    let ask = |_| {
        let socket = socket.clone();
        tokio::spawn(async move { socket.log(chat, Seq::ZERO, Some(PAGE_MAX)).await })
    };
    (0..ASKED_AT_ONCE).map(ask).collect()
}
