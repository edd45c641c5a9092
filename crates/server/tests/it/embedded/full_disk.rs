//! A full disk: nothing acknowledged is lost, nothing is acknowledged wrongly, and the server reports the failure and ends.

use godwit_client::Draft;
use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::socket::CloseCode;
use serde_json::json;

use super::unlimited;
use crate::logs::read_log;
use crate::people::Person;
use crate::process::ServerProcess;
use crate::raw;
use crate::raw_http::RawHttp;
use crate::raw_socket::{Ended, RawSocket};
use crate::senders::{Load, SENDERS, assert_all_there};

const BODY: &str = r#"{"handle":"ada","password":"correct horse battery"}"#;

/// Writes fail at some byte of some record, as on a full disk.
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
        // Unanswered sends are retried, and acknowledged ones return the original.
        for message in acknowledged.iter().rev().take(SENDERS) {
            let sender = if message.sender_id == ada.id { &ada.http } else { &bob.http };
            let again = sender
                .send_message(direct, Draft::text("again").client_id(message.client_id.clone().unwrap()))
                .await
                .unwrap();
            assert!(!again.is_new && again.id == message.id, "{again:?}");
        }
        ada.http.send_message(direct, Draft::text("and on it goes")).await.unwrap();
        server.stop().await;
    }
}

/// Without sends: the next write of the server fails, and it reports that and acknowledges nothing.
#[tokio::test]
async fn on_a_full_disk_nothing_is_acknowledged() {
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

/// Before it is full: nothing new is stored, everything can be read, and the server goes on.
#[tokio::test]
async fn an_almost_full_disk_costs_writes_and_not_reads() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut server = ServerProcess::on(&data, &[]).await;
    let [mut ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let direct = ada.open_direct(&bob).await;
    let said = ada.http.send_message(direct, Draft::text("hello")).await.unwrap();
    server.stop().await;

    // More than any disk has.
    let room = "store.embedded.free_disk_mib_min=4000000000";
    let mut server = ServerProcess::on(&data, &["--set", room]).await;
    ada.follow(&server.url());
    let raw = RawHttp::new(&server.url());
    let message = json!({ "client_id": "refused", "kind": "text", "text": "refused" });
    let path = format!("/v1/conversations/{direct}/messages");
    let refused =
        raw.ask("POST", &path).by(&ada.http).json(&message).refused(503, ErrorCode::Unavailable).await;
    assert!(refused.retry_after.is_some(), "{refused:?}");
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    let send =
        json!({ "conversation_id": direct, "client_id": "refused", "kind": "text", "text": "refused" });
    assert_eq!(socket.call("send", send).await["error"]["code"], "unavailable");
    let log = read_log(&ada.http, direct).await;
    assert_eq!(log.last().unwrap().seq, said.seq);
    raw.assert_healthy().await;
    assert_eq!(server.stderr().matches("the disk is almost full").count(), 1, "{}", server.stderr());
    server.stop().await;
}

#[tokio::test]
async fn a_failed_store_stops_the_server() {
    let mut server = unlimited().await;
    assert_eq!(raw::post(server.address(), "/v1/accounts", BODY).unwrap().status, 201);
    server.fill_disk();
    let refused = raw::post(server.address(), "/v1/accounts", &BODY.replace("ada", "bob")).unwrap();
    assert_eq!(refused.status, 503, "{}", refused.body);
    let status = server.wait().await;
    assert_eq!(status.code(), Some(1), "{}", server.stderr());
    assert!(server.stderr().contains("error: the store has failed"), "{}", server.stderr());

    server.start_again().await;
    assert_eq!(raw::post(server.address(), "/v1/sessions", BODY).unwrap().status, 201);
}
