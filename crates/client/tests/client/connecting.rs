//! When a session reconnects, when it does not, and how it stays signed in.

use std::time::{Duration, Instant};

use godwit_client::live::{Connection, LiveConfig, StopReason, Update, Updates};
use godwit_client::protocol::socket::{CloseCode, Command, SignedInSocket};
use godwit_client::protocol::{ErrorCode, Timestamp};
use godwit_client::{Http, Live};

use crate::fake::{FakeServer, Peer, caught_up, eager, soon};
use crate::http::{TokenServer, tokens};
use crate::sample::{C, hello, now, problem, signed_in, sync_page};

/// The reason of the last update, which must end the stream.
async fn stopped(updates: &mut Updates) -> StopReason {
    let mut last = None;
    while let Some(update) = soon("the end of the session", updates.next()).await {
        last = Some(update);
    }
    match last {
        Some(Update::Connection(Connection::Stopped(reason))) => reason,
        other => panic!("{other:?} was the last update"),
    }
}

#[tokio::test]
async fn the_application_gets_the_state_of_the_connection() {
    let server = FakeServer::start().await;
    let (live, mut updates) = server.live(eager());
    let (peer, _) = server.sync(sync_page("t1", &[])).await;
    soon("the session to be online", live.online()).await.unwrap();
    assert_eq!(live.connection(), Connection::Online);
    caught_up(&mut updates).await;
    drop(peer);
    let mut states = Vec::new();
    let (_peer, ()) = tokio::join!(server.sync(sync_page("t2", &[])), async {
        while states.last() != Some(&Connection::Online) {
            if let Some(Update::Connection(state)) = soon("an update", updates.next()).await {
                states.push(state);
            }
        }
    });
    assert!(
        matches!(states[..], [Connection::Offline { .. }, Connection::Connecting, Connection::Online]),
        "{states:?}"
    );
}

#[tokio::test]
async fn close_codes_decide_whether_the_client_reconnects() {
    for code in CloseCode::ALL {
        let server = FakeServer::start().await;
        let (_live, mut updates) = server.live(eager());
        let (peer, _) = server.sync(sync_page("t1", &[])).await;
        caught_up(&mut updates).await;
        peer.close(*code).await;
        if code.reconnect() {
            let (_, since) = server.sync(sync_page("t2", &[])).await;
            assert_eq!(since.as_deref(), Some("t1"), "{code:?}");
        } else if *code == CloseCode::SignedOut {
            assert_eq!(stopped(&mut updates).await, StopReason::SignedOut(None));
        } else {
            assert_eq!(stopped(&mut updates).await, StopReason::Refused(*code));
        }
    }
}

#[tokio::test]
async fn a_reconnect_hint_sets_the_time_of_the_next_attempt() {
    const LATER: Duration = Duration::from_secs(3);
    let server = FakeServer::start().await;
    let (_live, mut updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    caught_up(&mut updates).await;
    let told_at = Instant::now();
    peer.reconnect(LATER.as_millis() as u32).await;
    // The client disconnects at once, and reconnects at the announced time.
    peer.is_gone().await;
    assert!(told_at.elapsed() < LATER);
    server.accept_tcp().await;
    assert!(told_at.elapsed() >= LATER);
}

#[tokio::test]
async fn a_hint_to_reconnect_lets_a_message_finish() {
    let server = FakeServer::start().await;
    let (live, _updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    let sending = live.enqueue(C, godwit_client::Draft::text("a")).await.unwrap();
    let (id, sent) = peer.send_command().await;
    peer.reconnect(5_000).await;
    let late = live.enqueue(C, godwit_client::Draft::text("b")).await.unwrap();
    peer.stays_quiet().await;
    peer.ok(id, &crate::sample::message(C, 1, crate::sample::ME, &sent)).await;
    soon("the acknowledgement", sending.acknowledged()).await.unwrap();
    peer.is_gone().await;
    drop(late);
}

#[tokio::test]
async fn attempts_have_exponential_backoff() {
    let server = FakeServer::start().await;
    let mut config = eager();
    config.backoff.first = Duration::from_millis(40);
    config.backoff.max = Duration::from_millis(160);
    let (_live, _updates) = server.live(config);
    let start = Instant::now();
    for _ in 0..4 {
        drop(server.accept_tcp().await);
    }
    // Half of 40, 80 and 160 at least.
    assert!(start.elapsed() >= Duration::from_millis(140), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_session_that_has_ended_stops() {
    for code in [ErrorCode::Unauthenticated, ErrorCode::AccountDisabled, ErrorCode::TokenExpired] {
        let server = FakeServer::start().await;
        let (_live, mut updates) = server.live(eager());
        let mut peer = server.accept().await;
        let frame = peer.command().await;
        peer.error(frame.id, problem(code, 401, false)).await;
        assert_eq!(stopped(&mut updates).await, StopReason::SignedOut(Some(code)));
    }
}

#[tokio::test]
async fn a_session_without_a_token_does_not_start() {
    let (_live, mut updates) = Live::start(Http::new("http://127.0.0.1:9").unwrap(), LiveConfig::default());
    assert_eq!(stopped(&mut updates).await, StopReason::SignedOut(None));
}

#[tokio::test]
async fn a_silent_server_causes_a_reconnect() {
    let server = FakeServer::start().await;
    let (_live, _updates) = server.live(eager());
    let mut hello = hello();
    hello.heartbeat_ms = 20;
    let mut silent = server.greet(hello).await;
    let frame = silent.command().await;
    silent.ok(frame.id, &signed_in()).await;
    server.sync(sync_page("t1", &[])).await;
}

#[tokio::test]
async fn closing_ends_the_stream_also_while_offline() {
    let server = FakeServer::start().await;
    let mut config = eager();
    config.backoff.first = Duration::from_secs(60);
    config.backoff.max = Duration::from_secs(60);
    let (live, mut updates) = server.live(config);
    drop(server.accept_tcp().await);
    while !matches!(live.connection(), Connection::Offline { .. }) {
        soon("an update", updates.next()).await;
    }
    soon("the end", live.close()).await;
    assert_eq!(stopped(&mut updates).await, StopReason::ByApplication);
}

#[tokio::test]
async fn dropping_both_ends_closes_the_socket() {
    let server = FakeServer::start().await;
    let (live, updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    drop(live);
    peer.stays_quiet().await;
    drop(updates);
    peer.is_gone().await;
}

async fn sign_in_with(peer: &mut Peer, token: &str, expires_at: Timestamp) {
    let frame = peer.command().await;
    match frame.command {
        Command::SignIn(sign_in) => assert_eq!(sign_in.access_token, token),
        other => panic!("{other:?} is not a sign-in"),
    }
    peer.ok(frame.id, &SignedInSocket { expires_at, ..signed_in() }).await;
}

#[tokio::test]
async fn an_expired_token_is_refreshed_while_connecting() {
    let server = TokenServer::start().await;
    let (_live, _updates) = Live::start(server.http(tokens(0)), eager());
    let mut peer = server.accept().await;
    let frame = peer.command().await;
    peer.error(frame.id, problem(ErrorCode::TokenExpired, 401, false)).await;
    sign_in_with(&mut peer, "access-1", now().plus_millis(3_600_000)).await;
    assert_eq!(server.refreshes(), ["refresh-0"]);
}

#[tokio::test]
async fn a_token_is_replaced_on_the_socket_before_it_expires() {
    let server = TokenServer::start().await;
    let (_live, mut updates) = Live::start(server.http(tokens(0)), eager());
    let mut peer = server.accept().await;
    sign_in_with(&mut peer, "access-0", now().plus_millis(1_300)).await;
    let (id, _) = peer.sync_command().await;
    peer.ok(id, &sync_page("t1", &[])).await;
    caught_up(&mut updates).await;
    sign_in_with(&mut peer, "access-1", now().plus_millis(3_600_000)).await;
    assert_eq!(server.refreshes(), ["refresh-0"]);
    peer.stays_quiet().await;
}
