use godwit_client::protocol::ErrorCode;
use serde_json::{Value, json};

use super::Visitor;
use crate::groups::{NOBODY, each, text};

pub(super) async fn all([ada, bob, eve, _]: &[Visitor; 4]) {
    let group = making(ada, bob, eve).await;
    let path = format!("/v1/conversations/{group}");
    changing(ada, bob, &path).await;
    settings(ada, &group).await;
    deleting(ada, bob, eve, &group).await;
}

async fn making(ada: &Visitor, bob: &Visitor, eve: &Visitor) -> String {
    let new = json!({
        "kind": "group", "name": "Birds", "description": "What we saw", "image": "https://a.example/b.png",
        "member_ids": [bob.id(), eve.id(), NOBODY], "history": "from_joining",
    });
    let ask = || ada.asker.ask("POST", "/v1/conversations", &new).header("idempotency-key", "birds-1");
    let (first, again) = (ask().send().await, ask().send().await);
    assert_eq!((first.status, again.status), (201, 200));
    let (made, again) = (first.ok(), again.ok());
    assert_eq!(made["id"], again["id"], "the same key makes it once");
    assert_eq!(made["refused"], json!([{ "user_id": NOBODY, "added": false, "error": "not_found" }]));
    assert_eq!((&made["kind"], &made["name"]), (&json!("group"), &json!("Birds")));
    assert_eq!((&made["member_count"], &made["me"]["role"]), (&json!(3), &json!("owner")));
    assert_eq!((&made["permissions"]["members_may_send"], &made["large"]), (&json!(true), &json!(false)));
    let seen = bob.get(&format!("/v1/conversations/{}", text(&made["id"]))).await;
    assert_eq!((&seen["description"], &seen["me"]["role"]), (&json!("What we saw"), &json!("member")));
    let listed = bob.get("/v1/conversations").await;
    assert!(each(&listed["conversations"], "id").contains(&&made["id"]));
    let channel = ada.ok("POST", "/v1/conversations", json!({ "kind": "channel", "name": "News" })).await;
    assert_eq!(channel["permissions"]["members_may_send"], false);
    let direct = json!({ "kind": "direct", "user_id": bob.id() });
    let direct = ada.ok("POST", "/v1/conversations", direct).await;
    assert_eq!((&direct["peer"]["id"], direct.get("permissions")), (&bob.id(), None));
    text(&made["id"])
}

async fn changing(ada: &Visitor, bob: &Visitor, path: &str) {
    let change = json!({
        "name": "Waders", "description": null, "edits_visible_to": "admins", "message_ttl_secs": 3_600,
        "permissions": { "members_may_edit": false },
    });
    let changed = ada.ok("PATCH", path, change).await;
    assert_eq!((&changed["name"], changed.get("description")), (&json!("Waders"), None));
    let permissions = &changed["permissions"];
    assert_eq!(
        (&permissions["members_may_edit"], &permissions["members_may_send"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(changed["message_ttl_secs"], 3_600);
    bob.asker.ask("PATCH", path, &json!({ "name": "Mine" })).refused(403, ErrorCode::Forbidden).await;
    let log = bob.get(&format!("{path}/log?after=0")).await;
    assert_eq!(each(&log["entries"], "type"), ["created", "details_changed"]);
    assert_eq!((&log["entries"][1]["by"], &log["entries"][1]["name"]), (&ada.id(), &json!("Waders")));
    let history = bob.get(&format!("{path}/messages")).await;
    let notice = history["messages"].as_array().unwrap().last().unwrap();
    assert_eq!((&notice["kind"], &notice["notice"]["type"]), (&json!("system"), &json!("details_changed")));
    assert_eq!(bob.get(path).await["unread"], 0, "what the server says is not unread");
}

async fn settings(ada: &Visitor, group: &str) {
    let path = format!("/v1/conversations/{group}");
    let set = json!({ "pinned": true, "marked_unread": true, "draft": { "text": "Well" } });
    let me = ada.ok("PATCH", &format!("{path}/me"), set).await;
    assert_eq!(
        (&me["pinned"], &me["marked_unread"], &me["draft"]["text"]),
        (&json!(true), &json!(true), &json!("Well"))
    );
    let other = ada.make("group", "Other", &[]).await;
    ada.ok("PATCH", &format!("/v1/conversations/{other}/me"), json!({ "pinned": true })).await;
    let order = async || {
        let listed = ada.get("/v1/conversations").await;
        let pinned = |row: &&Value| row["me"]["pinned"] == true;
        let rows = listed["conversations"].as_array().unwrap();
        rows.iter().filter(pinned).map(|row| text(&row["id"])).collect::<Vec<_>>()
    };
    assert_eq!(order().await, [other.clone(), group.to_owned()], "the latest pinned first");
    ada.done("PUT", "/v1/conversations/pinned", json!({ "conversation_ids": [group] })).await;
    assert_eq!(order().await, [group.to_owned(), other]);
    let cursor = ada.ok("PUT", &format!("{path}/cursor"), json!({ "read": 2 })).await;
    assert_eq!(cursor["read"], 2);
    assert_eq!(ada.get(&path).await["me"]["marked_unread"], false, "it was read");
}

async fn deleting(ada: &Visitor, bob: &Visitor, eve: &Visitor, group: &str) {
    let path = format!("/v1/conversations/{group}");
    let is_listed = async |by: &Visitor| {
        each(&by.get("/v1/conversations").await["conversations"], "id").contains(&&json!(group))
    };
    let since = text(&eve.get(&path).await["created_at"]);
    let gone = async |by: &Visitor| {
        let list = by.get(&format!("/v1/conversations/gone?since={since}")).await;
        let gone = list["gone"].as_array().unwrap();
        gone.iter().find(|gone| gone["conversation_id"] == group).map(|gone| text(&gone["reason"]))
    };
    eve.done("DELETE", &format!("{path}?for=me"), Value::Null).await;
    assert!(!is_listed(eve).await && is_listed(bob).await);
    assert_eq!((gone(eve).await.as_deref(), gone(bob).await), (Some("deleted"), None));
    bob.say(group, "still here").await;
    assert!(is_listed(eve).await, "it comes back with the next message");
    let history = eve.get(&format!("{path}/messages")).await;
    assert_eq!(each(&history["messages"], "text"), ["still here"]);

    bob.asker
        .ask("DELETE", &format!("{path}?for=all"), &Value::Null)
        .refused(403, ErrorCode::Forbidden)
        .await;
    ada.done("DELETE", &format!("{path}?for=all"), Value::Null).await;
    for by in [ada, bob, eve] {
        assert!(!is_listed(by).await);
        assert_eq!(gone(by).await.as_deref(), Some("deleted"));
        by.asker.ask("GET", &path, &Value::Null).refused(404, ErrorCode::NotFound).await;
    }
}
