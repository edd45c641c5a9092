//! Tests the guide's table of retries: the result of every call that is made twice.

use std::collections::BTreeMap;

use godwit_client::Draft;
use godwit_client::protocol::DeviceId;
use serde_json::{Value, json};

use crate::bad_http::stage::{Stage, tokens};
use crate::people::{PASSWORD, Person, later, unique};

const GUIDE: &str = include_str!("../../../../docs/guides/repeating-calls.md");

/// The expected results of the first and the second call: a status, and a code for a refusal.
type Expected = (u16, u16, Option<String>);

/// Operations that end the membership or session of their user come last, in this order.
pub(crate) const LAST: &[&str] = &[
    "revoke_invite",
    "delete_message",
    "remove_member",
    "ban",
    "unban",
    "transfer_ownership",
    "leave",
    "delete_conversation",
    "block_user",
    "unblock_user",
    "change_password",
    "refresh_session",
    "sign_out",
];

#[tokio::test]
async fn repeated_calls_behave_as_the_guide_says() {
    let stage = Stage::start().await;
    let mut expected = table();
    let mut operations = stage.operations().await;
    operations.retain(|operation| operation.method != "GET");
    assert!(LAST.iter().all(|id| operations.iter().any(|operation| operation.id == *id)));
    operations
        .sort_by_key(|operation| LAST.iter().position(|id| **id == operation.id).map_or(0, |at| at + 1));
    let mut wrong = Vec::new();
    for operation in operations {
        let Some((first, again, code)) = expected.remove(&operation.id) else {
            wrong.push(format!("{} is not in the guide", operation.id));
            continue;
        };
        let body = operation.takes_body.then(|| Value::Object(stage.good_body(&operation.id)));
        let call = Call::prepare(&stage, &operation.id, operation.path, body).await;
        let (one, two) = (call.make(&operation.method).await, call.make(&operation.method).await);
        let said = (one.0, two.0, two.1["code"].as_str().map(str::to_owned));
        if said != (first, again, code.clone()) {
            wrong.push(format!("{}: {said:?}, and not {:?}", operation.id, (first, again, code)));
        }
        let is_same = |field: &str| one.1[field] == two.1[field];
        if two.0 == 200 && one.1.get("id").is_some() && !is_same("id") {
            wrong.push(format!("{}: it is another one: {} {}", operation.id, one.1, two.1));
        }
    }
    wrong.extend(expected.into_keys().map(|id| format!("there is no {id}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A call that succeeds.
pub(crate) struct Call<'a> {
    stage: &'a Stage,
    pub(crate) token: String,
    path: String,
    pub(crate) body: Option<Value>,
}

impl<'a> Call<'a> {
    /// Prepares what the call needs to succeed the first time.
    pub(crate) async fn prepare(
        stage: &'a Stage,
        id: &str,
        mut path: String,
        mut body: Option<Value>,
    ) -> Self {
        let url = stage.server.url();
        let mut by = stage.ada.http.clone();
        match id {
            "register" => body = Some(json!({ "handle": unique("new"), "password": "correct horse" })),
            "sign_in" => body = Some(json!({ "handle": stage.ada.handle, "password": PASSWORD })),
            "change_password" => {
                by = Person::register(&url, "kim").await.http;
                body = Some(json!({ "current_password": PASSWORD, "new_password": "correct horse" }));
            }
            "refresh_session" => {
                by = Person::register(&url, "kim").await.http;
                body = Some(json!({ "refresh_token": tokens(&by).refresh_token }));
            }
            "sign_out" => by = Person::register(&url, "kim").await.http,
            "revoke_device" => {
                let (device, _): (DeviceId, _) = stage.ada.sign_in("another").await;
                path = format!("/v1/devices/{device}");
            }
            "open_conversation" => {
                body = Some(json!({ "kind": "group", "name": "Two", "client_id": "g-2" }));
            }
            "update_me" => body = Some(json!({ "display_name": "Ada II" })),
            "update_conversation" => {
                body = Some(json!({ "name": "Trio", "permissions": { "anyone_may_join": true } }));
            }
            "transfer_ownership" => {
                let members = format!("/v1/conversations/{}/members", stage.group);
                let bob = json!({ "user_ids": [stage.bob.id] });
                stage.ask("POST", &members).json(&bob).send().await.ok();
            }
            "schedule_message" => {
                let message = json!({ "client_id": unique("s"), "kind": "text", "text": "good morning" });
                body =
                    Some(json!({ "conversation_id": stage.direct, "send_at": later(), "message": message }));
            }
            // A new user joins.
            "join" | "join_by_invite" => by = Person::register(&url, "kim").await.http,
            "leave" => by = stage.eve.http.clone(),
            "send_scheduled" | "cancel_scheduled" | "update_scheduled" => {
                let message = json!({ "client_id": unique("s"), "kind": "text", "text": "good morning" });
                let new = json!({ "conversation_id": stage.direct, "send_at": later(), "message": message });
                let made = stage.ask("POST", "/v1/scheduled").json(&new).send().await.ok();
                let id = made["scheduled"]["id"].as_str().unwrap().to_owned();
                path = path.replace(&stage.scheduled, &id);
                if let Some(Value::Object(body)) = &mut body {
                    body.remove("scheduled_id");
                }
            }
            "delete_message" => {
                let sent = stage.ada.http.send_message(stage.direct, Draft::text("oops")).await.unwrap();
                path = format!("/v1/messages/{}?for=me", sent.id);
            }
            _ => {}
        }
        Self { stage, token: by.access_token().unwrap(), path, body }
    }

    pub(crate) async fn make(&self, method: &str) -> (u16, Value) {
        let mut ask = self.stage.raw.ask(method, &self.path).token(&self.token);
        if let Some(body) = &self.body {
            ask = ask.json(body);
        }
        let answer = ask.send().await;
        (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
    }
}

/// The rows of the guide's table.
fn table() -> BTreeMap<String, Expected> {
    let mut table = BTreeMap::new();
    for row in GUIDE.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let status = |cell: &str| cell.split(' ').next().unwrap().parse().unwrap();
        let code = cells[3].split('`').nth(1).map(str::to_owned);
        table.insert(cells[1].trim_matches('`').to_owned(), (status(cells[2]), status(cells[3]), code));
    }
    table
}
