use godwit_client::protocol::ErrorCode;
use serde_json::{Value, json};

use super::Visitor;
use crate::groups::{each, text};

pub(super) async fn all([ada, bob, eve, _]: &[Visitor; 4]) {
    let group = ada.make("group", "Messages", &[bob, eve]).await;
    editing(ada, bob, eve, &group).await;
    talking(ada, bob, &group).await;
    reacting(ada, bob, &group).await;
    pinning(ada, bob, &group).await;
    deleting(ada, bob, eve, &group).await;
}

async fn editing(ada: &Visitor, bob: &Visitor, eve: &Visitor, group: &str) {
    let words = format!("@{} look", bob.asker.person.handle);
    let sent = ada.say(group, &words).await;
    assert_eq!(sent["mentions"], json!({ "user_ids": [bob.id()] }));
    assert_eq!(bob.get(&format!("/v1/conversations/{group}")).await["unread_mentions"], 1);
    let path = format!("/v1/messages/{}", text(&sent["id"]));
    let edited = ada.ok("PATCH", &path, json!({ "text": "@all look" })).await;
    assert_eq!((&edited["text"], &edited["mentions"]), (&json!("@all look"), &json!({ "all": true })));
    assert!(edited["edited_at"].is_string());
    assert_eq!(bob.get(&path).await["text"], "@all look");
    let versions = eve.get(&format!("{path}/edits")).await;
    assert_eq!(each(&versions["versions"], "text"), [&json!(words), &json!("@all look")]);
    bob.asker.ask("PATCH", &path, &json!({ "text": "mine" })).refused(403, ErrorCode::Forbidden).await;
}

async fn talking(ada: &Visitor, bob: &Visitor, group: &str) {
    let root = ada.say(group, "Who was it?").await;
    let reply = bob.say_with(group, "A godwit.", json!({ "reply_to": root["id"] })).await;
    assert_eq!((&reply["thread_id"], &reply["quote"]["preview"]), (&root["id"], &json!("Who was it?")));
    ada.say_with(group, "Oh!", json!({ "reply_to": reply["id"] })).await;
    let thread = ada.get(&format!("/v1/messages/{}/thread", text(&reply["id"]))).await;
    assert_eq!((&thread["root"]["id"], &thread["root"]["replies"]), (&root["id"], &json!(2)));
    assert_eq!(each(&thread["replies"], "text"), ["A godwit.", "Oh!"]);
    let direct = json!({ "kind": "direct", "user_id": bob.id() });
    let direct = text(&ada.ok("POST", "/v1/conversations", direct).await["id"]);
    let forward = ada.say_with(&direct, "A godwit.", json!({ "forwarded_from": reply["id"] })).await;
    assert_eq!(forward["forwarded_from"], json!({ "message_id": reply["id"], "sender_id": bob.id() }));
    let read = json!({ "read": reply["seq"] });
    ada.ok("PUT", &format!("/v1/conversations/{group}/cursor"), read).await;
    let receipts = bob.get(&format!("/v1/messages/{}/receipts", text(&reply["id"]))).await;
    let status = |user: &Value| {
        let receipts = receipts["receipts"].as_array().unwrap();
        receipts.iter().find(|receipt| receipt["user_id"] == *user).unwrap()["status"].clone()
    };
    assert_eq!((status(&ada.id()), &receipts["read_by_all"]), (json!("READ"), &json!(false)));
}

async fn reacting(ada: &Visitor, bob: &Visitor, group: &str) {
    let sent = ada.say(group, "Three of them!").await;
    let path = format!("/v1/messages/{}", text(&sent["id"]));
    for (by, reaction) in [(ada, "🎉"), (bob, "👍"), (bob, "🎉")] {
        let now = by.ok("PUT", &format!("{path}/reaction"), json!({ "reaction": reaction })).await;
        assert_eq!(now["my_reaction"], reaction);
    }
    let list = ada.get(&format!("{path}/reactions")).await;
    assert_eq!(each(&list["reactions"], "reaction"), ["🎉", "🎉"]);
    let now = bob.ok("DELETE", &format!("{path}/reaction"), Value::Null).await;
    assert_eq!(now["reactions"], json!([{ "reaction": "🎉", "count": 1 }]));
    assert!(now.get("my_reaction").is_none());
}

async fn pinning(ada: &Visitor, bob: &Visitor, group: &str) {
    let sent = ada.say(group, "Meet at six").await;
    let pin = format!("/v1/messages/{}/pin", text(&sent["id"]));
    bob.done("PUT", &pin, Value::Null).await;
    let pins = ada.get(&format!("/v1/conversations/{group}/pins")).await;
    assert_eq!((&pins["pins"][0]["by"], &pins["pins"][0]["message"]["id"]), (&bob.id(), &sent["id"]));
    let seen = ada.get(&format!("/v1/conversations/{group}")).await;
    assert_eq!(seen["pinned_message_ids"], json!([sent["id"]]));
    ada.done("DELETE", &pin, Value::Null).await;
    assert_eq!(ada.get(&format!("/v1/conversations/{group}/pins")).await["pins"], json!([]));
}

async fn deleting(ada: &Visitor, bob: &Visitor, eve: &Visitor, group: &str) {
    let sent = bob.say(group, "a secret").await;
    let reply = eve.say_with(group, "What?", json!({ "reply_to": sent["id"] })).await;
    let path = format!("/v1/messages/{}", text(&sent["id"]));
    eve.done("DELETE", &format!("{path}?for=me"), Value::Null).await;
    eve.asker.ask("GET", &path, &Value::Null).refused(404, ErrorCode::NotFound).await;
    assert_eq!(ada.get(&path).await["text"], "a secret");
    ada.done("DELETE", &format!("{path}?for=all"), Value::Null).await;
    let left = bob.get(&path).await;
    assert!(left["deleted_at"].is_string() && left.get("text").is_none(), "{left}");
    bob.asker.ask("PATCH", &path, &json!({ "text": "again" })).refused(410, ErrorCode::MessageGone).await;
    bob.asker.ask("GET", &format!("{path}/edits"), &Value::Null).refused(410, ErrorCode::MessageGone).await;
    let quoted = ada.get(&format!("/v1/messages/{}", text(&reply["id"]))).await;
    assert_eq!((&quoted["quote"]["deleted"], &quoted["quote"]["preview"]), (&json!(true), &json!("")));
    for list in ["messages", "log?after=0&limit=200"] {
        let seen = bob.get(&format!("/v1/conversations/{group}/{list}")).await.to_string();
        assert!(!seen.contains(r#""text":"a secret""#), "{seen}");
    }
}
