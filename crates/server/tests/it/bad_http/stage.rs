//! Three people with conversations, and every operation of the API with what it needs to succeed.

use godwit_client::protocol::accounts::Tokens;
use godwit_client::protocol::{ConversationId, DeviceId, MessageId};
use godwit_client::{Draft, Http};
use serde_json::{Map, Value, json};

use crate::people::{Person, later, unique};
use crate::process::ServerProcess;
use crate::raw_http::{Ask, RawHttp};
use crate::unlimited::unlimited;

/// Ada talks with Bob and with Eve, and has a group with both. Bob and Eve have a conversation that Ada cannot see.
pub(crate) struct Stage {
    pub(crate) server: ServerProcess,
    pub(crate) raw: RawHttp,
    pub(crate) ada: Person,
    pub(crate) bob: Person,
    pub(crate) eve: Person,
    /// An unused device of Ada's.
    pub(crate) spare_device: DeviceId,
    /// Of Ada and Bob.
    pub(crate) direct: ConversationId,
    /// In it, by Ada.
    pub(crate) message: MessageId,
    /// Of Ada and Eve.
    pub(crate) other: ConversationId,
    pub(crate) other_message: MessageId,
    /// Of Bob and Eve.
    pub(crate) unseen: ConversationId,
    pub(crate) unseen_message: MessageId,
    /// Of Ada, who owns it, Bob and Eve.
    pub(crate) group: String,
    /// Of the group, with its token.
    pub(crate) invite: (String, String),
    /// By Ada, for Bob.
    pub(crate) scheduled: String,
    /// An unused handle, which bad requests ask for.
    pub(crate) mallory: String,
}

/// An operation of OpenAPI, with a path for which Ada's request would succeed.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    /// Needs no token.
    pub(crate) is_open: bool,
    pub(crate) takes_body: bool,
    /// Names of the query parameters.
    pub(crate) query: Vec<String>,
}

impl Stage {
    pub(crate) async fn start() -> Self {
        let server = unlimited().await;
        Self::of(server).await
    }

    pub(crate) async fn of(server: ServerProcess) -> Self {
        let url = server.url();
        let ada = Person::register(&url, "ada").await;
        let bob = Person::register(&url, "bob").await;
        let eve = Person::register(&url, "eve").await;
        let (spare_device, _) = ada.sign_in("spare").await;
        let direct = ada.open_direct(&bob).await;
        let other = ada.open_direct(&eve).await;
        let unseen = bob.open_direct(&eve).await;
        let message = ada.http.send_message(direct, Draft::text("hello Bob")).await.unwrap().id;
        let other_message = ada.http.send_message(other, Draft::text("hello Eve")).await.unwrap().id;
        let unseen_message = bob.http.send_message(unseen, Draft::text("a secret")).await.unwrap().id;
        let raw = RawHttp::new(&url);
        let make =
            async |path: &str, body: Value| raw.ask("POST", path).by(&ada.http).json(&body).send().await.ok();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let new = json!({ "kind": "group", "name": "Three", "member_ids": [bob.id, eve.id] });
        let group = text(&make("/v1/conversations", new).await["id"]);
        let invite = make(&format!("/v1/conversations/{group}/invites"), json!({})).await;
        let scheduled = json!({
            "conversation_id": direct, "send_at": later(),
            "message": { "client_id": "later", "kind": "text", "text": "good morning" },
        });
        let scheduled = text(&make("/v1/scheduled", scheduled).await["scheduled"]["id"]);
        Self {
            group,
            invite: (text(&invite["id"]), text(&invite["token"])),
            scheduled,
            server,
            raw,
            ada,
            bob,
            eve,
            spare_device,
            direct,
            message,
            other,
            other_message,
            unseen,
            unseen_message,
            mallory: unique("mallory"),
        }
    }

    /// A request by Ada.
    pub(crate) fn ask(&self, method: &str, path: &str) -> Ask {
        self.raw.ask(method, path).by(&self.ada.http)
    }

    pub(crate) async fn operations(&self) -> Vec<Operation> {
        let document = self.raw.ask("GET", "/openapi.json").send().await.ok();
        let mut operations = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                operations.push(self.operation(path, method, operation));
            }
        }
        assert!(operations.len() >= 64, "the document has all operations");
        operations
    }

    /// All operations with a body, each with a valid one.
    pub(crate) async fn operations_with_body(&self) -> Vec<(Operation, Map<String, Value>)> {
        let mut all = Vec::new();
        for operation in self.operations().await.into_iter().filter(|operation| operation.takes_body) {
            let body = self.good_body(&operation.id);
            if operation.id == "open_conversation" {
                all.push((operation.clone(), body));
                all.push((operation, self.good_group()));
            } else if operation.id == "send_message" {
                all.push((operation.clone(), body));
                all.push((operation, self.good_forward()));
            } else {
                all.push((operation, body));
            }
        }
        all
    }

    fn operation(&self, path: &str, method: &str, described: &Value) -> Operation {
        let parameters = described["parameters"].as_array().cloned().unwrap_or_default();
        let query = parameters.iter().filter(|parameter| parameter["in"] == "query");
        Operation {
            id: described["operationId"].as_str().unwrap().to_owned(),
            method: method.to_ascii_uppercase(),
            path: self.filled(method, path),
            is_open: described.get("security").is_some_and(|security| *security == json!([{}])),
            takes_body: described.get("requestBody").is_some(),
            query: query.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect(),
        }
    }

    fn filled(&self, method: &str, path: &str) -> String {
        let parts: Vec<&str> = path.split('/').collect();
        let id = match (parts.get(2).copied(), parts.get(4).copied()) {
            (Some("conversations"), Some("messages" | "cursor" | "log" | "me")) => self.direct.to_string(),
            (Some("conversations" | "refused-groups"), _) => self.group.clone(),
            (Some("messages"), _) => self.message.to_string(),
            (Some("devices"), _) => self.spare_device.to_string(),
            (Some("users"), _) => self.bob.id.to_string(),
            (Some("scheduled"), _) => self.scheduled.clone(),
            _ => String::new(),
        };
        let filled = path
            .replace("{id}", &id)
            .replace("{user_id}", &self.bob.id.to_string())
            .replace("{invite_id}", &self.invite.0)
            .replace("{token}", &self.invite.1);
        match (method, path) {
            (_, "/v1/users") => format!("{filled}?query={}", self.bob.handle),
            (_, "/v1/conversations/gone") => format!("{filled}?since=2026-01-01T00:00:00Z"),
            (_, "/v1/conversations/{id}/log") => format!("{filled}?after=0"),
            ("delete", "/v1/conversations/{id}" | "/v1/messages/{id}") => format!("{filled}?for=me"),
            _ => filled,
        }
    }

    pub(crate) fn good_body(&self, operation: &str) -> Map<String, Value> {
        let body = match operation {
            "register" => json!({
                "handle": self.mallory, "password": "correct horse", "display_name": "Mallory",
                "phone": "+34600111222", "device_name": "phone",
            }),
            "sign_in" => {
                json!({ "handle": self.ada.handle, "password": "a wrong password", "device_name": "phone" })
            }
            "refresh_session" => json!({ "refresh_token": "none" }),
            "update_me" => json!({
                "handle": self.mallory, "display_name": "Ada II", "avatar": "https://a.example/a.png",
                "phone": "+34600111222", "presence_visible": false, "read_receipts": false,
            }),
            "change_password" => {
                json!({ "current_password": "a wrong password", "new_password": "correct horse" })
            }
            "open_conversation" => json!({ "kind": "direct", "user_id": self.eve.id }),
            "update_conversation" => json!({
                "conversation_id": self.group, "name": "Trio", "description": "Three people",
                "image": "https://a.example/g.png", "history": "from_joining", "edits_visible_to": "admins",
                "message_ttl_secs": 60, "permissions": permissions(),
            }),
            "order_pinned" => json!({ "conversation_ids": [] }),
            "update_membership" => json!({
                "conversation_id": self.direct, "pinned": true, "archived": false,
                "muted_until": "2999-01-01T00:00:00Z", "marked_unread": true,
                "draft": { "text": "well", "reply_to": self.message },
            }),
            "add_members" => json!({ "conversation_id": self.group, "user_ids": [self.bob.id] }),
            "set_role" => {
                json!({ "conversation_id": self.group, "user_id": self.bob.id, "role": "admin" })
            }
            "transfer_ownership" => json!({ "conversation_id": self.group, "user_id": self.bob.id }),
            "create_invite" => json!({
                "conversation_id": self.group, "client_id": "i-1", "expires_at": later(), "uses_max": 5,
            }),
            "edit_message" => json!({ "message_id": self.message, "text": "hello, Bob" }),
            "react" => json!({ "message_id": self.message, "reaction": "👍" }),
            "schedule_message" => json!({
                "conversation_id": self.direct, "send_at": later(), "message": self.good_message(),
            }),
            "update_scheduled" => {
                json!({ "scheduled_id": self.scheduled, "send_at": later(), "text": "good evening" })
            }
            "move_cursor" => json!({ "conversation_id": self.direct, "delivered": 1, "read": 1 }),
            "send_message" => self.good_message(),
            new => panic!("{new} needs a body here, so that its bad input is tried too"),
        };
        body.as_object().unwrap().clone()
    }

    /// A group with every optional part.
    fn good_group(&self) -> Map<String, Value> {
        let body = json!({
            "kind": "group", "name": "Four", "description": "Four people", "image": "https://a.example/g.png",
            "member_ids": [self.bob.id], "permissions": permissions(), "history": "all", "client_id": "g-1",
        });
        body.as_object().unwrap().clone()
    }

    /// An image, because it has the most fields.
    pub(crate) fn good_message(&self) -> Value {
        json!({
            "conversation_id": self.direct, "client_id": "c-1", "kind": "image", "text": "look",
            "media": { "url": "https://a.example/a.png", "content_type": "image/png", "size_bytes": 10 },
            "reply_to": self.message,
        })
    }

    /// A forward has no content of its own.
    fn good_forward(&self) -> Map<String, Value> {
        json!({ "client_id": "c-2", "forwarded_from": self.message }).as_object().unwrap().clone()
    }

    pub(crate) fn messages_path(&self) -> String {
        format!("/v1/conversations/{}/messages", self.direct)
    }

    /// Everything that the three people can read, to show that a refused request has changed nothing.
    pub(crate) async fn everything(&self) -> Value {
        let mut all = Map::new();
        for person in [&self.ada, &self.bob, &self.eve] {
            for path in [
                "me",
                "devices",
                "blocks",
                "conversations",
                "conversations?archived=true",
                "stars",
                "scheduled",
            ] {
                let seen = self.raw.get(&person.http, &format!("/v1/{path}")).await;
                all.insert(format!("{} {path}", person.handle), seen);
            }
            let mut sync = self.raw.get(&person.http, "/v1/sync?limit=200").await;
            sync.as_object_mut().unwrap().remove("token");
            all.insert(format!("{} sync", person.handle), sync);
        }
        for (person, conversation) in [
            (&self.ada, self.direct.to_string()),
            (&self.ada, self.other.to_string()),
            (&self.ada, self.group.clone()),
            (&self.bob, self.unseen.to_string()),
        ] {
            let log = format!("/v1/conversations/{conversation}/log?after=0&limit=200");
            all.insert(log.clone(), self.raw.get(&person.http, &log).await);
        }
        let people = self.raw.get(&self.ada.http, &format!("/v1/users?query={}", self.mallory)).await;
        all.insert("people".to_owned(), people);
        Value::Object(all)
    }

    /// Asserts that nothing has changed since `before`, and that the server works.
    pub(crate) async fn assert_unharmed(&self, before: &Value) {
        self.assert_unharmed_but_for(before, "").await;
    }

    /// Asserts that only this has changed since `before`, and that the server works.
    pub(crate) async fn assert_unharmed_but_for(&self, before: &Value, expected: &str) {
        let after = self.everything().await;
        for (what, was) in before.as_object().unwrap() {
            assert!(what == expected || &after[what] == was, "{what} has changed:\n{was}\n{}", after[what]);
        }
        self.raw.assert_healthy().await;
        let sent = self.bob.http.send_message(self.direct, Draft::text("still there?")).await.unwrap();
        assert!(sent.is_new);
    }
}

fn permissions() -> Value {
    json!({
        "anyone_may_join": true, "members_may_send": false, "members_may_add_members": false,
        "members_may_edit": false,
    })
}

/// The tokens of a client that signed in with a password.
pub(crate) fn tokens(http: &Http) -> Tokens {
    http.tokens().unwrap()
}
