use serde_json::json;

use crate::people::Person;
use crate::raw_socket::RawSocket;
use crate::store::Enough;
use crate::unlimited::unlimited;

/// How often the race runs. Either side can win.
const ROUNDS: Enough = Enough { embedded: 40, cassandra: 10 };

/// A user who starts to watch during a block gets at most the current presence, and no later event.
#[tokio::test]
async fn a_block_also_ends_a_watch_that_starts_concurrently() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let token = ada.http.access_token();
    for round in 0..ROUNDS.here() {
        let watcher = Person::register(&server.url(), &format!("watcher{round}")).await;
        let mut socket = RawSocket::open(server.address(), watcher.http.access_token().as_deref()).await;
        let id = socket.post("watch_presence", json!({ "user_ids": [ada.id] })).await;
        // At a different moment each time.
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        ada.http.block(watcher.id).await.unwrap();
        socket.reply(id).await;
        // Ada comes online. The reply to a later command arrives after the event about it.
        let mut online = RawSocket::open(server.address(), token.as_deref()).await;
        online.assert_alive().await;
        let id = socket.post("ping", json!({})).await;
        loop {
            let frame = socket.json().await;
            assert!(frame.get("presence").is_none(), "round {round}: {frame}");
            if frame["id"] == id {
                break;
            }
        }
    }
}
