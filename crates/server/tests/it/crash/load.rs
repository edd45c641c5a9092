//! The load during a kill, and the state of the clients afterwards.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use godwit_client::protocol::conversations::MoveCursor;
use godwit_client::protocol::messages::{LogEntry, Message, SendMessage};
use godwit_client::protocol::socket::Event;
use godwit_client::protocol::{ConversationId, Seq};
use godwit_client::{Draft, Error, Events, Http, Socket};
use tokio::task::JoinHandle;

use crate::logs::LogChecker;
use crate::people::{socket_config, soon};

/// Sends in flight per client.
const IN_FLIGHT: usize = 6;

/// The sender within a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    One,
    Other,
}

/// The outcomes of one client's sends.
#[derive(Default)]
pub(super) struct Sends {
    pub(super) acknowledged: Vec<Message>,
    /// Sent without an answer.
    pub(super) unknown: Vec<SendMessage>,
}

pub(super) struct Load {
    senders: Vec<(Side, JoinHandle<Sends>)>,
    readers: Vec<JoinHandle<Vec<LogEntry>>>,
}

/// The state of a pair's clients after a kill.
pub(super) struct Known {
    pub(super) sends: Vec<(Side, Sends)>,
    /// The entries that each socket received.
    pub(super) heard: Vec<Vec<LogEntry>>,
}

impl Load {
    /// One side sends over a socket and the other over HTTP; both read and move their cursors.
    pub(super) fn start(one: &Http, other: &Http, chat: ConversationId, round: usize) -> Self {
        Self {
            senders: vec![
                (Side::One, tokio::spawn(over_socket(one.clone(), chat, round))),
                (Side::Other, tokio::spawn(over_http(other.clone(), chat, round))),
            ],
            readers: vec![tokio::spawn(read(one.clone(), chat)), tokio::spawn(read(other.clone(), chat))],
        }
    }

    /// Waits until every client has lost its connection.
    pub(super) async fn finish(self) -> Known {
        let mut known = Known { sends: Vec::new(), heard: Vec::new() };
        for (side, sender) in self.senders {
            known.sends.push((side, soon("a sender to notice", sender).await.unwrap()));
        }
        for reader in self.readers {
            known.heard.push(soon("a reader to notice", reader).await.unwrap());
        }
        known
    }
}

/// A socket. `None` if the server is down already.
async fn connect(http: &Http) -> Option<(Socket, Events)> {
    Socket::connect(http.base_url(), socket_config(http)).await.inspect_err(assert_unanswered).ok()
}

async fn over_socket(http: Http, chat: ConversationId, round: usize) -> Sends {
    let Some((socket, mut events)) = connect(&http).await else { return Sends::default() };
    let drain = tokio::spawn(async move { while events.next().await.is_some() {} });
    let sends = send_until_gone(&format!("socket-{round}"), |message: SendMessage| {
        let socket = socket.clone();
        async move { socket.send(chat, message).await }
    })
    .await;
    drain.await.unwrap();
    sends
}

async fn over_http(http: Http, chat: ConversationId, round: usize) -> Sends {
    send_until_gone(&format!("http-{round}"), |message: SendMessage| {
        let http = http.clone();
        async move { http.send_message(chat, message).await.map(|sent| sent.value) }
    })
    .await
}

/// Sends continuously, with several messages in flight, until one gets no answer.
async fn send_until_gone<F>(tag: &str, send: impl Fn(SendMessage) -> F) -> Sends
where
    F: Future<Output = Result<Message, Error>>,
{
    let mut sends = Sends::default();
    let mut in_flight = FuturesUnordered::new();
    let (mut number, mut gone) = (0, false);
    loop {
        while !gone && in_flight.len() < IN_FLIGHT {
            let client_id = format!("{tag}-{number}");
            let message: SendMessage =
                Draft::text(format!("text of {client_id}")).client_id(client_id).into();
            number += 1;
            let sending = send(message.clone());
            in_flight.push(async move { (message, sending.await) });
        }
        match in_flight.next().await {
            Some((_, Ok(message))) => sends.acknowledged.push(message),
            Some((message, Err(error))) => {
                assert_unanswered(&error);
                sends.unknown.push(message);
                gone = true;
            }
            None => return sends,
        }
    }
}

/// Receives entries, acknowledges delivery of all, and marks every second one as read.
async fn read(http: Http, chat: ConversationId) -> Vec<LogEntry> {
    let Some((socket, mut events)) = connect(&http).await else { return Vec::new() };
    let mut checker: Option<LogChecker> = None;
    let mut marks = FuturesUnordered::new();
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(Event::Entry(event)) if event.conversation_id == chat => {
                    let seq = event.entry.seq;
                    let before = Seq::new(seq.get() - 1);
                    checker.get_or_insert_with(|| LogChecker::after("a reader", before)).take(event.entry);
                    if marks.len() < IN_FLIGHT {
                        marks.push(socket.move_cursor(chat, mark(seq)));
                    }
                }
                Some(_) => {}
                None => return checker.map(LogChecker::into_entries).unwrap_or_default(),
            },
            Some(moved) = marks.next() => drop(moved.inspect_err(assert_unanswered)),
        }
    }
}

fn mark(seq: Seq) -> MoveCursor {
    let is_read = seq.get().is_multiple_of(2);
    MoveCursor { delivered: Some(seq), read: is_read.then_some(seq), ..MoveCursor::default() }
}

/// A killed server may not answer, but must not answer wrongly.
pub(super) fn assert_unanswered(error: &Error) {
    assert!(error.code().is_none(), "a refusal: {error:?}");
    assert!(error.is_temporary(), "an answer that is wrong: {error:?}");
}
