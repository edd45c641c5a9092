//! One socket: replies are matched with commands, events wait in a bounded queue, and the end has a reason.

use std::time::Duration;

use godwit_client::protocol::conversations::DeleteFor;
use godwit_client::protocol::messages::OfMessage;
use godwit_client::protocol::socket::{CloseCode, Command, Empty, Event};
use godwit_client::protocol::{ErrorCode, MessageId, Seq};
use godwit_client::{Closed, Draft, Error, Events, Socket, SocketConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::Message as Frame;

use crate::fake::{A_WHILE, FakeServer, Peer, soon};
use crate::sample::{C, ME, hello, log_page, message, problem, signed_in};

const M: MessageId = MessageId::new(7);
/// The number of commands in the test below.
const COMMANDS: usize = 14;

async fn open(server: &FakeServer, config: SocketConfig) -> (Socket, Events, Peer) {
    let (client, peer) = tokio::join!(Socket::connect(&server.url, config), server.accept());
    let (socket, events) = client.unwrap();
    (socket, events, peer)
}

#[tokio::test]
async fn replies_are_matched_with_commands_in_any_order() {
    let server = FakeServer::start().await;
    let (socket, _events, mut peer) = open(&server, SocketConfig::default()).await;
    let commands = (0..10).map(|after| {
        let socket = socket.clone();
        tokio::spawn(async move { socket.log(C, Seq::new(after), None).await })
    });
    let commands: Vec<_> = commands.collect();
    let mut asked = Vec::new();
    for _ in 0..10 {
        asked.push(peer.log_command().await);
    }
    for (id, log) in asked.into_iter().rev() {
        peer.ok(id, &log_page(C, [log.after.get() + 1], 50)).await;
    }
    for (after, command) in commands.into_iter().enumerate() {
        let page = soon("the reply", command).await.unwrap().unwrap();
        assert_eq!(page.entries[0].seq.get(), after as u64 + 1);
    }
}

#[tokio::test]
async fn every_command_has_the_format_of_the_protocol() {
    let server = FakeServer::start().await;
    let (socket, _events, mut peer) = open(&server, SocketConfig::default()).await;
    let client = async {
        assert_eq!(socket.sign_in("secret").await.unwrap().user_id, ME);
        assert_eq!(socket.send(C, Draft::text("hi")).await.unwrap().seq, Seq::new(1));
        assert_eq!(socket.delivered(C, Seq::new(1)).await.unwrap().user_id, ME);
        assert_eq!(socket.read(C, Seq::new(1)).await.unwrap().user_id, ME);
        socket.typing(C, true).await.unwrap();
        socket.log(C, Seq::ZERO, Some(3)).await.unwrap();
        socket.sync(Some("t".into()), None).await.unwrap();
        assert!(socket.watch_presence(vec![ME]).await.unwrap().is_empty());
        socket.ping().await.unwrap();
        socket.edit(M, "better").await.unwrap();
        socket.react(M, "+").await.unwrap();
        socket.unreact(M).await.unwrap();
        socket.delete(M, DeleteFor::Me).await.unwrap();
        let Empty {} = socket.call(Command::Pin(OfMessage { message_id: M })).await.unwrap();
    };
    let served = async {
        for _ in 0..COMMANDS {
            let frame = peer.command().await;
            let cursor = &crate::sample::conversation(C, 1, 1).cursors[0];
            let id = frame.id;
            match frame.command {
                Command::SignIn(_) => peer.ok(id, &signed_in()).await,
                Command::Send(sent) => peer.ok(id, &message(C, 1, ME, &sent)).await,
                Command::Cursor(_) => peer.ok(id, cursor).await,
                Command::Log(_) => peer.ok(id, &log_page(C, [], 0)).await,
                Command::Sync(_) => peer.ok(id, &crate::sample::sync_page("t", &[])).await,
                Command::WatchPresence(_) => {
                    peer.ok(id, &serde_json::json!({ "presence": [] })).await;
                }
                Command::Edit(_) | Command::React(_) | Command::Unreact(_) => {
                    peer.ok(id, &message(C, 1, ME, &Draft::text("hi").into())).await;
                }
                _ => peer.ok(id, &serde_json::json!({})).await,
            }
        }
    };
    soon("all commands", async { tokio::join!(client, served) }).await;
}

#[tokio::test]
async fn a_refusal_is_an_error_and_keeps_the_socket() {
    let server = FakeServer::start().await;
    let (socket, mut events, mut peer) = open(&server, SocketConfig::default()).await;
    let (error, ()) = tokio::join!(socket.ping(), async {
        let frame = peer.command().await;
        peer.error(frame.id, problem(ErrorCode::SignInFirst, 401, false)).await;
    });
    assert_eq!(error.unwrap_err().code(), Some(ErrorCode::SignInFirst));
    // Neither an unknown event nor an invalid frame closes the socket.
    peer.raw(Frame::text(r#"{"from_the_future":{}}"#)).await;
    peer.raw(Frame::text("not json")).await;
    peer.entries(C, [1]).await;
    assert!(matches!(soon("an event", events.next()).await, Some(Event::Entry(_))));
}

#[tokio::test]
async fn pings_are_answered() {
    let server = FakeServer::start().await;
    let (_socket, _events, mut peer) = open(&server, SocketConfig::default()).await;
    peer.raw(Frame::Ping("beat".into())).await;
    assert_eq!(peer.frame().await, Some(Frame::Pong("beat".into())));
}

#[tokio::test]
async fn all_callers_get_the_reason_of_the_end() {
    let server = FakeServer::start().await;
    let (socket, mut events, mut peer) = open(&server, SocketConfig::default()).await;
    let waiting = tokio::spawn({
        let socket = socket.clone();
        async move { socket.ping().await }
    });
    peer.command().await;
    peer.entries(C, [1]).await;
    peer.close(CloseCode::TooSlow).await;
    let closed = soon("the end", socket.wait_closed()).await;
    assert_eq!(closed.code(), Some(CloseCode::TooSlow));
    assert!(
        matches!(soon("the reply", waiting).await.unwrap(), Err(Error::Closed(reason)) if reason == closed)
    );
    assert!(matches!(socket.ping().await, Err(Error::Closed(reason)) if reason == closed));
    // Events from before the end can still be taken.
    assert!(events.next().await.is_some());
    assert!(events.next().await.is_none());
    assert_eq!(events.closed(), Some(&closed));
}

#[tokio::test]
async fn a_broken_connection_is_reported_as_lost() {
    let server = FakeServer::start().await;
    let (socket, _events, peer) = open(&server, SocketConfig::default()).await;
    drop(peer);
    assert!(matches!(soon("the end", socket.wait_closed()).await, Closed::Lost { .. }));
}

#[tokio::test]
async fn closing_sends_a_close_frame() {
    let server = FakeServer::start().await;
    let (socket, _events, mut peer) = open(&server, SocketConfig::default()).await;
    let (closed, ()) = tokio::join!(socket.close(), async {
        assert!(matches!(peer.frame().await, Some(Frame::Close(_))));
        peer.is_gone().await;
    });
    assert_eq!(closed, Closed::ByClient);
}

#[tokio::test]
async fn events_wait_in_a_bounded_queue_in_order() {
    const LIMIT: usize = 8;
    let server = FakeServer::start().await;
    let config = SocketConfig { events_buffered_max: LIMIT, ..SocketConfig::default() };
    let (socket, mut events, mut peer) = open(&server, config).await;
    // More than the buffers of the network hold: the server's writes block because the client does not read.
    const MANY: u64 = 40_000;
    let mut writing = tokio::spawn(async move {
        peer.entries(C, 1..=MANY).await;
        peer
    });
    assert!(tokio::time::timeout(A_WHILE * 3, &mut writing).await.is_err(), "all was read");
    // Commands are still sent; only their replies queue behind the events.
    let pinging = tokio::spawn(async move { socket.ping().await });
    for seq in 1..=MANY {
        match soon("an event", events.next()).await {
            Some(Event::Entry(event)) => assert_eq!(event.entry.seq.get(), seq),
            other => panic!("{other:?} is not an entry"),
        }
    }
    let mut peer = soon("the rest to be written", writing).await.unwrap();
    let frame = peer.command().await;
    peer.ok(frame.id, &serde_json::json!({})).await;
    soon("the reply", pinging).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_command_without_a_reply_times_out_and_keeps_its_permit() {
    let server = FakeServer::start().await;
    let mut hello = hello();
    hello.limits.commands_in_flight_max = 2;
    let config = SocketConfig { command_timeout: A_WHILE * 10, ..SocketConfig::default() };
    let (client, mut peer) = tokio::join!(Socket::connect(&server.url, config), server.greet(hello));
    let (socket, _events) = client.unwrap();
    let outcomes = tokio::join!(socket.ping(), socket.ping(), socket.ping());
    for outcome in [outcomes.0, outcomes.1, outcomes.2] {
        assert!(matches!(outcome, Err(Error::Timeout { .. })), "{outcome:?}");
    }
    // Two commands are in flight: a third is not sent before one is answered.
    let (first, _second) = (peer.command().await, peer.command().await);
    let (outcome, ()) = tokio::join!(socket.ping(), async {
        peer.stays_quiet().await;
        peer.ok(first.id, &serde_json::json!({})).await;
        let third = peer.command().await;
        peer.ok(third.id, &serde_json::json!({})).await;
    });
    outcome.unwrap();
}

#[tokio::test]
async fn a_frame_that_is_too_large_is_not_sent() {
    let server = FakeServer::start().await;
    let mut hello = hello();
    hello.limits.frame_bytes_max = 1_000;
    let (client, mut peer) =
        tokio::join!(Socket::connect(&server.url, SocketConfig::default()), server.greet(hello));
    let (socket, _events) = client.unwrap();
    let error = socket.send(C, Draft::text("x".repeat(1_000))).await.unwrap_err();
    assert!(matches!(error, Error::FrameTooLarge { bytes_max: 1_000, .. }), "{error:?}");
    peer.stays_quiet().await;
}

#[tokio::test]
async fn a_silent_server_ends_the_socket_unless_it_sends_pings() {
    let server = FakeServer::start().await;
    let mut hello = hello();
    hello.heartbeat_ms = 500;
    let (client, mut peer) =
        tokio::join!(Socket::connect(&server.url, SocketConfig::default()), server.greet(hello));
    let (socket, _events) = client.unwrap();
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        peer.raw(Frame::Ping("".into())).await;
    }
    assert_eq!(socket.closed(), None);
    assert_eq!(soon("the end", socket.wait_closed()).await, Closed::Silent);
}

#[tokio::test]
async fn a_refused_handshake_reports_the_reason() {
    let server = FakeServer::start().await;
    let config = SocketConfig { access_token: Some("stale".into()), ..SocketConfig::default() };
    let refusing = async {
        let mut stream = server.accept_tcp().await;
        let mut request = vec![0; 4_096];
        let length = stream.read(&mut request).await.unwrap();
        let request = String::from_utf8_lossy(&request[..length]).to_lowercase();
        assert!(request.contains("authorization: bearer stale"), "{request}");
        let body = serde_json::to_string(&problem(ErrorCode::TokenExpired, 401, false)).unwrap();
        let response = format!(
            "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(response.as_bytes()).await.unwrap();
    };
    let (client, ()) = tokio::join!(Socket::connect(&server.url, config), refusing);
    assert_eq!(client.unwrap_err().code(), Some(ErrorCode::TokenExpired));
}
