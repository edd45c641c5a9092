//! Sends, which are retried until they are acknowledged or refused, and acknowledgements of received entries.

use std::time::Duration;

use godwit_client::live::{Live, Sending, StopReason};
use godwit_client::protocol::conversations::MoveCursor;
use godwit_client::protocol::messages::{Change, LogEntry, SendMessage};
use godwit_client::protocol::socket::{Command, CommandFrame, EntryEvent, Event};
use godwit_client::protocol::sync::SyncPage;
use godwit_client::protocol::{ConversationId, ErrorCode, Problem, Seq};
use godwit_client::{Draft, Error, ResumeState};

use crate::fake::{FakeServer, Peer, caught_up, eager, entries, next, nothing, soon};
use crate::sample::{C, D, ME, conversation, message, now, problem, signed_in, sync_page};

async fn give(live: &Live, id: ConversationId, name: &str) -> Sending {
    soon("a place in the outbox", live.enqueue(id, Draft::text(name).client_id(name))).await.unwrap()
}

async fn acknowledge(peer: &mut Peer, id: u64, seq: u64, sent: &SendMessage) {
    let conversation = sent.conversation_id.unwrap();
    peer.ok(id, &message(conversation, seq, ME, sent)).await;
}

fn own_entry(seq: u64, sent: &SendMessage) -> Event {
    let entry = LogEntry {
        seq: Seq::new(seq),
        at: now(),
        change: Change::Message { message: Box::new(message(C, seq, ME, sent)) },
    };
    Event::Entry(EntryEvent { conversation_id: C, entry })
}

#[tokio::test]
async fn a_lost_acknowledgement_does_not_duplicate_a_message() {
    let server = FakeServer::start().await;
    let (live, mut updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    let sending = live.enqueue(C, Draft::text("hello")).await.unwrap();
    let client_id = sending.client_id().to_owned();
    let (_, sent) = peer.send_command().await;
    assert_eq!((sent.conversation_id, &sent.client_id), (Some(C), &client_id));
    // The message is durable and its entry was sent, but the acknowledgement is lost.
    peer.event(&own_entry(1, &sent)).await;
    assert_eq!(entries(&mut updates, C, 1).await, [1]);
    drop(peer);

    let (mut peer, _) = server.sync(sync_page("t2", &[(C, 1)])).await;
    let (id, again) = peer.send_command().await;
    assert_eq!((again.client_id, again.text), (client_id, sent.text.clone()));
    acknowledge(&mut peer, id, 1, &sent).await;
    let message = soon("the acknowledgement", sending.acknowledged()).await.unwrap();
    assert_eq!(message.seq, Seq::new(1));
    assert!(caught_up(&mut updates).await.is_empty(), "the entry came twice");
    peer.stays_quiet().await;
}

#[tokio::test]
async fn a_message_sent_while_offline_is_delivered_after_the_connect() {
    let server = FakeServer::start().await;
    let (live, _updates) = server.live(eager());
    let sending = give(&live, C, "early").await;
    drop(server.accept_tcp().await);
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    let (id, sent) = peer.send_command().await;
    acknowledge(&mut peer, id, 1, &sent).await;
    soon("the acknowledgement", sending.acknowledged()).await.unwrap();
}

#[tokio::test]
async fn a_permanent_refusal_is_returned_to_the_caller() {
    let server = FakeServer::start().await;
    let (live, _updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    let sending = give(&live, C, "a").await;
    let (id, _) = peer.send_command().await;
    peer.error(id, problem(ErrorCode::Blocked, 403, false)).await;
    let error = soon("the refusal", sending.acknowledged()).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::Blocked));
    assert!(!error.is_temporary());
    peer.stays_quiet().await;
}

#[tokio::test]
async fn a_temporary_refusal_is_retried_and_nothing_overtakes() {
    let server = FakeServer::start().await;
    let (live, _updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    let (first, second) = (give(&live, C, "first").await, give(&live, C, "second").await);
    let (id, _) = peer.send_command().await;
    peer.error(id, problem(ErrorCode::Unavailable, 503, true)).await;
    for (name, seq) in [("first", 1), ("second", 2)] {
        let (id, sent) = peer.send_command().await;
        assert_eq!(sent.client_id, name);
        acknowledge(&mut peer, id, seq, &sent).await;
    }
    for sending in [first, second] {
        soon("the acknowledgement", sending.acknowledged()).await.unwrap();
    }
}

#[tokio::test]
async fn a_rate_limit_is_respected() {
    let server = FakeServer::start().await;
    let (live, _updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    let _sending = give(&live, C, "a").await;
    let (id, _) = peer.send_command().await;
    let limited = Problem { retry_after: Some(1), ..problem(ErrorCode::RateLimited, 429, true) };
    let told_at = std::time::Instant::now();
    peer.error(id, limited).await;
    peer.send_command().await;
    assert!(told_at.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn messages_in_flight_are_limited_and_callers_wait() {
    let server = FakeServer::start().await;
    let mut config = eager();
    config.sends_in_flight_max = 2;
    config.sends_queued_max = 4;
    let (live, _updates) = server.live(config);
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    let mut sendings = Vec::new();
    // Four messages are in the outbox and sixteen in the channel, so the next one waits.
    for number in 0..20 {
        sendings.push(give(&live, ConversationId::new(500 + number), &number.to_string()).await);
    }
    let full = tokio::time::timeout(crate::fake::A_WHILE, live.enqueue(D, Draft::text("one too many")));
    assert!(full.await.is_err(), "there is no limit");
    let [one, two] = [peer.send_command().await, peer.send_command().await];
    peer.stays_quiet().await;
    acknowledge(&mut peer, one.0, 1, &one.1).await;
    acknowledge(&mut peer, two.0, 1, &two.1).await;
    peer.send_command().await;
}

#[tokio::test]
async fn the_end_of_the_session_ends_the_retries() {
    let server = FakeServer::start().await;
    let (live, _updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    let waiting = give(&live, C, "a").await;
    peer.send_command().await;
    peer.close(godwit_client::protocol::socket::CloseCode::SignedOut).await;
    let error = soon("the end", waiting.acknowledged()).await.unwrap_err();
    assert!(matches!(error, Error::Stopped(StopReason::SignedOut(None))), "{error:?}");
    let error = soon("a refusal", live.send(C, Draft::text("late"))).await.unwrap_err();
    assert!(matches!(error, Error::Stopped(StopReason::SignedOut(None))), "{error:?}");
}

#[tokio::test]
async fn closing_waits_for_messages_in_flight() {
    let server = FakeServer::start().await;
    let (live, _updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    let sending = give(&live, C, "a").await;
    let (id, sent) = peer.send_command().await;
    live.read(C, Seq::new(3)).await.unwrap();
    let closing = tokio::spawn(async move { live.close().await });
    let (cursor_id, cursor) = cursor_command(&mut peer).await;
    assert_eq!(cursor.read, Some(Seq::new(3)));
    peer.ok(cursor_id, &conversation(C, 3, 3).cursors[0]).await;
    acknowledge(&mut peer, id, 1, &sent).await;
    soon("the acknowledgement", sending.acknowledged()).await.unwrap();
    soon("the end", closing).await.unwrap();
    peer.is_gone().await;
}

async fn cursor_command(peer: &mut Peer) -> (u64, MoveCursor) {
    match peer.command().await {
        CommandFrame { id, command: Command::Cursor(cursor) } => (id, cursor),
        other => panic!("{other:?} is not a cursor"),
    }
}

#[tokio::test]
async fn taken_entries_are_acknowledged_together() {
    let server = FakeServer::start().await;
    let mut config = eager();
    config.acknowledge_after = Some(Duration::from_millis(300));
    let (_live, mut updates) = server.live(config);
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    peer.entries(C, 1..=5).await;
    // No acknowledgement before the entry is taken.
    peer.stays_quiet().await;
    entries(&mut updates, C, 4).await;
    let (_, cursor) = cursor_command(&mut peer).await;
    assert_eq!((cursor.conversation_id, cursor.delivered, cursor.read), (Some(C), Some(Seq::new(4)), None));
    drop(peer);

    // The reply was lost, so the move is sent again, merged with later ones.
    entries(&mut updates, C, 1).await;
    let (mut peer, _) = server.sync(sync_page("t2", &[])).await;
    let (id, cursor) = cursor_command(&mut peer).await;
    let (id, cursor) = if cursor.delivered == Some(Seq::new(4)) {
        peer.ok(id, &conversation(C, 5, 4).cursors[0]).await;
        cursor_command(&mut peer).await
    } else {
        (id, cursor)
    };
    assert_eq!(cursor.delivered, Some(Seq::new(5)));
    peer.ok(id, &conversation(C, 5, 5).cursors[0]).await;
    peer.stays_quiet().await;
}

#[tokio::test]
async fn own_messages_are_not_acknowledged() {
    let server = FakeServer::start().await;
    let mut config = eager();
    config.acknowledge_after = Some(Duration::from_millis(10));
    let (_live, mut updates) = server.live(config);
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    peer.event(&own_entry(1, &Draft::text("mine").into())).await;
    entries(&mut updates, C, 1).await;
    peer.stays_quiet().await;
}

#[tokio::test]
async fn entries_that_an_earlier_process_did_not_acknowledge_are_acknowledged() {
    let server = FakeServer::start().await;
    let mut config = eager();
    config.acknowledge_after = Some(Duration::from_millis(10));
    config.resume =
        Some(ResumeState { token: Some("t0".into()), account_seq: 0, seen: [(C, Seq::new(9))].into() });
    let (_live, mut updates) = server.live(config);
    let page = SyncPage { conversations: vec![conversation(C, 9, 6)], ..sync_page("t1", &[]) };
    let (mut peer, _) = server.sync(page).await;
    caught_up(&mut updates).await;
    let (_, cursor) = cursor_command(&mut peer).await;
    assert_eq!(cursor.delivered, Some(Seq::new(9)));
}

#[tokio::test]
async fn presence_is_watched_again_after_a_reconnect_and_typing_is_not_repeated() {
    let server = FakeServer::start().await;
    let (live, mut updates) = server.live(eager());
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    live.typing(C, true).await.unwrap();
    assert_eq!(peer.command().await.command.name(), "typing");
    live.watch_presence(vec![signed_in().user_id]).await.unwrap();
    assert_eq!(peer.command().await.command.name(), "watch_presence");
    drop(peer);
    let mut peer = server.sign_in().await;
    let mut names = [peer.command().await, peer.command().await];
    names.sort_by_key(|frame| frame.command.name());
    assert_eq!(
        names.iter().map(|frame| frame.command.name()).collect::<Vec<_>>(),
        ["sync", "watch_presence"]
    );
    let presence = r#"{"presence":[{"user_id":"1","online":true}]}"#;
    peer.ok(names[1].id, &serde_json::from_str::<serde_json::Value>(presence).unwrap()).await;
    loop {
        match next(&mut updates).await {
            godwit_client::Update::Presence(event) => break assert!(event.presence.online),
            godwit_client::Update::CaughtUp => {}
            other => panic!("{other:?} came unexpectedly"),
        }
    }
    nothing(&mut updates).await;
}

#[tokio::test]
async fn a_message_without_an_answer_is_retried_on_the_same_connection() {
    let server = FakeServer::start().await;
    let mut config = eager();
    config.send_timeout = Duration::from_millis(20);
    let (live, _updates) = server.live(config);
    let (mut peer, _) = server.sync(sync_page("t1", &[])).await;
    let (first, second) = (give(&live, C, "first").await, give(&live, C, "second").await);
    let (lost, sent) = peer.send_command().await;
    let (id, again) = peer.send_command().await;
    assert_ne!(lost, id);
    assert_eq!((&*again.client_id, &again.text), ("first", &sent.text), "nothing overtakes it");
    acknowledge(&mut peer, id, 1, &again).await;
    // A late second answer is ignored.
    acknowledge(&mut peer, lost, 1, &sent).await;
    let message = soon("the acknowledgement", first.acknowledged()).await.unwrap();
    assert_eq!(message.seq, Seq::new(1));
    loop {
        let (id, sent) = peer.send_command().await;
        // On a slow machine, another timeout may have passed.
        if sent.client_id == "second" {
            acknowledge(&mut peer, id, 2, &sent).await;
            break;
        }
    }
    drop(second);
}
