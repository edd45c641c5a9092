use godwit_client::protocol::ErrorCode;
use serde_json::{Value, json};

use super::Visitor;
use crate::groups::{each, text};
use crate::people::later;

pub(super) async fn all([_, bob, eve, kim]: &[Visitor; 4]) {
    let group = kim.make("group", "Personal", &[bob, eve]).await;
    starring(kim, bob, &group).await;
    scheduling(kim, bob, &group).await;
    leaving_for_good(kim, bob).await;
}

async fn leaving_for_good(kim: &Visitor, bob: &Visitor) {
    let group = kim.make("group", "Left", &[bob]).await;
    bob.done("POST", &format!("/v1/conversations/{group}/leave?block=true"), Value::Null).await;
    assert_eq!(bob.get("/v1/refused-groups").await["conversation_ids"], serde_json::json!([group]));
    bob.done("DELETE", &format!("/v1/refused-groups/{group}"), Value::Null).await;
    assert_eq!(bob.get("/v1/refused-groups").await["conversation_ids"], serde_json::json!([]));
    bob.done("DELETE", &format!("/v1/blocks/{}", kim.asker.id()), Value::Null).await;
}

async fn starring(kim: &Visitor, bob: &Visitor, group: &str) {
    let (first, second) = (bob.say(group, "one").await, bob.say(group, "two").await);
    let star = |message: &Value| format!("/v1/messages/{}/star", text(&message["id"]));
    for message in [&second, &first, &first] {
        kim.done("PUT", &star(message), Value::Null).await;
    }
    let page = kim.get("/v1/stars?limit=1").await;
    assert_eq!(each(&page["messages"], "id"), [&second["id"]], "the latest message first");
    let next = kim.get(&format!("/v1/stars?limit=1&after={}", text(&page["next"]))).await;
    assert_eq!(each(&next["messages"], "id"), [&first["id"]]);
    kim.done("DELETE", &star(&second), Value::Null).await;
    bob.done("DELETE", &format!("/v1/messages/{}?for=all", text(&first["id"])), Value::Null).await;
    let left = kim.get("/v1/stars").await;
    assert!(left["messages"][0].get("text").is_none(), "nothing of what was deleted: {left}");
    assert_eq!(bob.get("/v1/stars").await["messages"], json!([]), "stars are one's own");
}

async fn scheduling(kim: &Visitor, bob: &Visitor, group: &str) {
    let message = json!({ "client_id": "later", "kind": "text", "text": "Good morning" });
    let new = json!({ "conversation_id": group, "send_at": later(), "message": message });
    let created = kim.send("POST", "/v1/scheduled", new.clone()).await;
    assert_eq!(created.status, 201);
    let scheduled = created.ok()["scheduled"].take();
    let again = kim.send("POST", "/v1/scheduled", new.clone()).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.ok()["scheduled"]["id"], scheduled["id"], "once");
    assert_eq!(each(&kim.get("/v1/scheduled").await["scheduled"], "id"), [&scheduled["id"]]);
    let path = format!("/v1/scheduled/{}", text(&scheduled["id"]));
    let changed = kim.ok("PATCH", &path, json!({ "text": "Good evening" })).await;
    assert_eq!(
        (&changed["message"]["text"], &changed["send_at"]),
        (&json!("Good evening"), &scheduled["send_at"])
    );
    bob.asker.ask("DELETE", &path, &Value::Null).refused(404, ErrorCode::NotFound).await;
    let sending = format!("{path}/send");
    bob.asker.ask("POST", &sending, &Value::Null).refused(404, ErrorCode::NotFound).await;
    let sent = kim.send("POST", &sending, Value::Null).await;
    assert_eq!(sent.status, 201);
    let sent = sent.ok();
    assert_eq!((&sent["text"], &sent["client_id"]), (&json!("Good evening"), &json!("later")));
    assert_eq!(kim.ok("POST", &sending, Value::Null).await["id"], sent["id"], "sent once");
    kim.asker.ask("DELETE", &path, &Value::Null).refused(409, ErrorCode::TooLate).await;
    assert_eq!(kim.ok("POST", "/v1/scheduled", new).await["message"]["id"], sent["id"]);
    let message = json!({ "client_id": "later", "kind": "text", "text": "Good morning" });
    let resent = kim.send("POST", &format!("/v1/conversations/{group}/messages"), message).await;
    assert_eq!(resent.status, 200);
    assert_eq!(resent.ok()["id"], sent["id"]);

    let message = json!({ "client_id": "never", "kind": "text", "text": "Good night" });
    let new = json!({ "conversation_id": group, "send_at": later(), "message": message });
    let scheduled = kim.ok("POST", "/v1/scheduled", new).await["scheduled"].take();
    kim.done("DELETE", &format!("/v1/scheduled/{}", text(&scheduled["id"])), Value::Null).await;
    assert_eq!(kim.get("/v1/scheduled").await["scheduled"], json!([]));
}
