//! Large conversations.

use godwit_client::protocol::ErrorCode;
use serde_json::{Value, json};

use super::{Asker, each, text};
use crate::people::unique;
use crate::process::ServerProcess;
use crate::unlimited::unlimited_with;

/// A channel of Ada's that is large with these settings, with all others as readers.
async fn channel() -> (ServerProcess, [Asker; 6], String) {
    let server = unlimited_with("[messages]\nfan_out_members_max = 3\n").await;
    let people = Asker::register_all(&server, ["ada", "bob", "eve", "kim", "lea", "max"]).await;
    let readers: Vec<_> = people[1..].iter().map(Asker::id).collect();
    let new = json!({ "kind": "channel", "name": "News", "member_ids": readers });
    let id = text(&people[0].ok("POST", "/v1/conversations", new).await["id"]);
    (server, people, id)
}

fn message(text: &str) -> Value {
    json!({ "client_id": unique("c"), "kind": "text", "text": text })
}

#[tokio::test]
async fn a_large_channel_is_in_every_inbox_and_reaches_connected_members() {
    let (server, [ada, bob, ..], channel) = channel().await;
    let path = format!("/v1/conversations/{channel}");
    let mut bobs = bob.socket(&server).await;
    let sent = ada.ok("POST", &format!("{path}/messages"), message("hear")).await;
    let heard = bobs.event("entry").await;
    assert_eq!((&heard["conversation_id"], &heard["message"]["id"]), (&json!(channel), &sent["id"]));
    let inbox = bob.get("/v1/conversations").await;
    let row = &inbox["conversations"][0];
    assert_eq!((&row["id"], &row["large"], &row["unread"]), (&json!(channel), &json!(true), &json!(1)));
    assert!(row["cursors"].is_null(), "lists have no marks of members");
    assert_eq!(row["last_message"]["preview"], "hear");

    // All receipts, in pages.
    let receipts = format!("/v1/messages/{}/receipts?limit=2", text(&sent["id"]));
    let (mut users, mut next) = (Vec::new(), String::new());
    loop {
        let page = ada.get(&format!("{receipts}{next}")).await;
        users.extend(each(&page["receipts"], "user_id").into_iter().cloned());
        assert_eq!((&page["read_by_all"], &page["delivered_to_all"]), (&Value::Null, &Value::Null));
        match page["next"].as_str() {
            Some(cursor) => next = format!("&after={cursor}"),
            None => break,
        }
    }
    assert_eq!(users.len(), 5, "one for each reader");

    // A removed member receives nothing more on an open socket.
    ada.ok("DELETE", &format!("{path}/members/{}", bob.id()), Value::Null).await;
    ada.ok("POST", &format!("{path}/messages"), message("not for Bob")).await;
    bob.ask("GET", &path, &Value::Null).refused(404, ErrorCode::NotFound).await;
    bobs.assert_alive().await;
    let later = ada.ok("POST", "/v1/conversations", json!({ "kind": "direct", "user_id": bob.id() })).await;
    let own = format!("/v1/conversations/{}/messages", text(&later["id"]));
    ada.ok("POST", &own, message("for Bob")).await;
    loop {
        let entry = bobs.event("entry").await;
        assert_ne!(entry["message"]["text"], "not for Bob");
        if entry["message"]["text"] == "for Bob" {
            break;
        }
    }
}

/// In large conversations, reactions are batched, so each takes a while. A socket that waits for one receives all other
/// events.
#[tokio::test]
async fn a_slow_command_does_not_delay_events() {
    let (server, [ada, bob, ..], channel) = channel().await;
    let path = format!("/v1/conversations/{channel}/messages");
    let sent = ada.ok("POST", &path, message("first")).await;
    let mut bobs = bob.socket(&server).await;
    let react = json!({ "message_id": sent["id"], "reaction": "👍" });
    let id = bobs.post("react", react).await;
    ada.ok("POST", &path, message("meanwhile")).await;
    let heard = bobs.event("entry").await;
    assert_eq!(heard["message"]["text"], "meanwhile");
    let reply = bobs.reply(id).await;
    assert_eq!(reply["ok"]["my_reaction"], "👍", "{reply}");
    assert_eq!(reply["ok"]["reactions"], json!([{ "reaction": "👍", "count": 1 }]));
}
