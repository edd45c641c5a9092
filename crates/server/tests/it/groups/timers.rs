//! Actions that the server takes on its own at a certain time.

use std::time::Duration;

use rand::RngExt;
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::sleep;

use super::{Asker, each, text};
use crate::people::{in_ms, soon};
use crate::process::ServerProcess;
use crate::seed::seeded;
use crate::store::TestStore;
use crate::unlimited::unlimited_on;

/// Messages of each kind that are due while the server is killed.
const DUE: i64 = 20;
/// The polling interval.
const STEP: Duration = Duration::from_millis(100);

/// A server that is the only one on its store while the guard lives.
async fn only_server() -> (ServerProcess, MutexGuard<'static, ()>) {
    static TURN: Mutex<()> = Mutex::const_new(());
    let turn = TURN.lock().await;
    let store = tokio::task::spawn_blocking(|| TestStore::of_run_for("timers")).await.unwrap();
    (unlimited_on(store).await, turn)
}

#[tokio::test]
async fn a_scheduled_message_is_sent_once_and_a_message_with_a_timer_disappears() {
    let (server, _turn) = only_server().await;
    let [ada, bob] = Asker::register_all(&server, ["ada", "bob"]).await;
    let new = json!({ "kind": "group", "name": "Soon", "member_ids": [bob.id()] });
    let group = text(&ada.ok("POST", "/v1/conversations", new).await["id"]);
    let path = format!("/v1/conversations/{group}");
    ada.ok("PATCH", &path, json!({ "message_ttl_secs": 5 })).await;
    let message = |text: &str| json!({ "client_id": text, "kind": "text", "text": text });
    let sent = ada.ok("POST", &format!("{path}/messages"), message("gone-soon")).await;
    assert!(sent["expires_at"].is_string(), "{sent}");

    let mut bobs = bob.socket(&server).await;
    let later =
        json!({ "conversation_id": group, "send_at": in_ms(1_500), "message": message("from-the-past") });
    ada.ok("POST", "/v1/scheduled", later).await;
    let (mut heard, mut expired) = (None, None);
    soon("a message to come and one to go", async {
        while heard.is_none() || expired.is_none() {
            let entry = bobs.event("entry").await;
            match entry["type"].as_str() {
                Some("message") => assert_eq!(heard.replace(entry), None, "it is sent once"),
                Some("expired") => expired = Some(entry),
                _ => {}
            }
        }
    })
    .await;
    let (heard, expired) = (heard.unwrap(), expired.unwrap());
    assert_eq!(
        (&heard["message"]["text"], &heard["message"]["sender_id"]),
        (&json!("from-the-past"), &json!(ada.id()))
    );
    soon("the list to be empty", async {
        while ada.get("/v1/scheduled").await["scheduled"] != json!([]) {
            sleep(STEP).await;
        }
    })
    .await;

    assert_eq!(expired["message_ids"][0], sent["id"]);
    let left = bob.get(&format!("/v1/messages/{}", text(&sent["id"]))).await;
    assert!(left["deleted_at"].is_string() && left.get("text").is_none(), "{left}");
    let history = bob.get(&format!("{path}/messages")).await.to_string();
    assert!(!history.contains(r#""text":"gone-soon""#), "{history}");
}

/// Nothing is lost. A kill between sending a message and recording it is too rare to happen here;
/// `domain/tests/rules/personal.rs` shows that the message is not sent twice then.
#[tokio::test]
async fn due_work_is_done_even_if_the_server_is_killed_during_it() {
    let (mut server, _turn) = only_server().await;
    let mut ada = Asker::register(&server, "ada").await;
    let [kept, passing] = ["Kept", "Passing"].map(|name| json!({ "kind": "group", "name": name }));
    let kept = text(&ada.ok("POST", "/v1/conversations", kept).await["id"]);
    let passing = text(&ada.ok("POST", "/v1/conversations", passing).await["id"]);
    let passing = format!("/v1/conversations/{passing}");
    ada.ok("PATCH", &passing, json!({ "message_ttl_secs": 5 })).await;
    for number in 0..DUE {
        let message =
            json!({ "client_id": format!("{number}"), "kind": "text", "text": format!("{number}") });
        ada.ok("POST", &format!("{passing}/messages"), message.clone()).await;
        let send_at = in_ms(3_000 + 100 * number);
        let later = json!({ "conversation_id": kept, "send_at": send_at, "message": message });
        ada.ok("POST", "/v1/scheduled", later).await;
    }

    let mut random = seeded(rand::random());
    for _ in 0..4 {
        sleep(Duration::from_millis(random.random_range(500..2_000))).await;
        server.kill().await;
        server.start_again().await;
        ada.follow(&server);
    }
    soon("everything to be sent", async {
        while ada.get("/v1/scheduled").await["scheduled"] != json!([]) {
            sleep(STEP).await;
        }
    })
    .await;
    let sent = ada.get(&format!("/v1/conversations/{kept}/messages?limit=100")).await;
    let mut sent: Vec<i64> = each(&sent["messages"], "text")
        .into_iter()
        .filter_map(|text| text.as_str())
        .map(|text| text.parse().unwrap())
        .collect();
    sent.sort_unstable();
    assert_eq!(sent, (0..DUE).collect::<Vec<_>>(), "each is sent once");
    soon("everything to disappear", async {
        let messages = format!("{passing}/messages?limit=100");
        while each(&ada.get(&messages).await["messages"], "text").iter().any(|text| text.is_string()) {
            sleep(STEP).await;
        }
    })
    .await;
}
