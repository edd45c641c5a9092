//! A user with data of every kind.

use serde_json::{Value, json};

use super::values::Known;
use crate::people::{PASSWORD, Person, later, unique};
use crate::process::ServerProcess;
use crate::raw_http::RawHttp;

pub(super) struct Scene {
    pub(super) raw: RawHttp,
    pub(super) ada: Person,
    pub(super) known: Known,
}

impl Scene {
    pub(super) async fn new(server: &ServerProcess) -> Self {
        let raw = RawHttp::new(&server.url());
        let [ada, bob, eve] = Person::register_all(&server.url(), ["ada", "bob", "eve"]).await;
        let (device, _) = ada.sign_in("spare").await;
        let post = async |path: String, body: Value| {
            raw.ask("POST", &path).by(&ada.http).json(&body).send().await.ok()
        };
        let mut known = Known::new();
        let mut know =
            |name: &str, value: &Value| known.entry(name.to_owned()).or_default().push(value.clone());
        for user in [&ada, &bob, &eve] {
            know("UserId", &json!(user.id));
        }
        know("DeviceId", &json!(device));
        for new in [
            json!({ "kind": "direct", "user_id": bob.id }),
            json!({ "kind": "group", "name": "Birds", "member_ids": [bob.id, eve.id] }),
            json!({ "kind": "channel", "name": "News", "member_ids": [bob.id] }),
        ] {
            let conversation = post("/v1/conversations".into(), new).await["id"].clone();
            let path = format!("/v1/conversations/{}", conversation.as_str().unwrap());
            for words in ["hello", "look @all, a godwit"] {
                let body = json!({ "client_id": unique("c"), "kind": "text", "text": words });
                know("MessageId", &post(format!("{path}/messages"), body).await["id"]);
            }
            let body = json!({
                "conversation_id": conversation, "send_at": later(),
                "message": { "client_id": unique("s"), "kind": "text", "text": "good morning" },
            });
            know("ScheduledId", &post("/v1/scheduled".into(), body).await["scheduled"]["id"]);
            know("ConversationId", &conversation);
        }
        // Groups with Ada as a member, and groups that she can join.
        for new in [
            json!({ "kind": "group", "name": "Bob's", "member_ids": [ada.id] }),
            json!({ "kind": "group", "name": "Open", "permissions": { "anyone_may_join": true } }),
        ] {
            let made = raw.ask("POST", "/v1/conversations").by(&bob.http).json(&new).send().await.ok();
            know("ConversationId", &made["id"]);
        }
        let group = known["ConversationId"][1].as_str().unwrap().to_owned();
        let invite = post(format!("/v1/conversations/{group}/invites"), json!({})).await;
        let mut know = |name: &str, value: Value| known.entry(name.to_owned()).or_default().push(value);
        know("InviteId", invite["id"].clone());
        know("InviteToken", invite["token"].clone());
        know("Password", json!(PASSWORD));
        // The schema allows texts of any length, and some have a meaning.
        know("handle", json!(ada.handle));
        let tokens = ada.http.tokens().unwrap();
        know("refresh_token", json!(tokens.refresh_token));
        know("access_token", json!(tokens.access_token));
        know("Seq", json!(0));
        know("Seq", json!(1));
        know("Seq", json!(3));
        Self { raw, ada, known }
    }
}
