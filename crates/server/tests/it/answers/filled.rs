//! Ada and her conversations, with as much in them as the limits allow, or more than a page of it.

use futures_util::stream::{self, StreamExt};
use godwit_client::protocol::limits::{
    AVATAR_BYTES_MAX, CONVERSATION_IMAGE_BYTES_MAX, CONVERSATION_NAME_CHARS_MAX, DESCRIPTION_CHARS_MAX,
    DEVICE_NAME_CHARS_MAX, DEVICES_PER_USER_MAX, DISPLAY_NAME_CHARS_MAX, DRAFT_CHARS_MAX,
    INVITES_PER_CONVERSATION_MAX, MEMBERS_ADDED_AT_ONCE_MAX, PAGE_MAX, PINS_PER_CONVERSATION_MAX,
    REACTION_CHARS_MAX, REACTIONS_DISTINCT_MAX, TEXT_CHARS_MAX,
};
use serde_json::{Value, json};

use crate::bad_http::stage::Stage;
use crate::people::{Person, later, unique};
use crate::store::Enough;

/// More than a page.
const OTHERS: Enough = Enough { embedded: PAGE_MAX as usize + 10, cassandra: PAGE_MAX as usize + 10 };
/// More long texts than fit into a page.
const TEXTS: usize = 40;
/// Requests at the same time.
const AT_ONCE: usize = 16;
/// Groups that Ada has left.
const LEFT: usize = 8;

pub(super) struct Filled {
    pub(super) stage: Stage,
    /// Members of the group.
    pub(super) others: Vec<Person>,
    /// The prefix of their handles.
    prefix: String,
    /// In the group, with reactions of all others.
    popular: String,
    /// A group with bans.
    strict: String,
    /// One more scheduled message.
    pub(super) scheduled_too: String,
}

/// Each character takes two bytes in JSON.
fn long(chars: usize) -> String {
    "\"".repeat(chars)
}

pub(super) fn text_message(client_id: &str) -> Value {
    json!({ "client_id": client_id, "kind": "text", "text": long(TEXT_CHARS_MAX) })
}

fn address(bytes: usize) -> String {
    let start = "https://media.example/";
    format!("{start}{}", "x".repeat(bytes - start.len()))
}

fn profile() -> Value {
    json!({ "display_name": "𝄞".repeat(DISPLAY_NAME_CHARS_MAX), "avatar": address(AVATAR_BYTES_MAX) })
}

impl Filled {
    pub(super) async fn new() -> Self {
        let stage = Stage::start().await;
        let prefix = unique("o");
        let others = people(&stage, &prefix).await;
        let mut filled = Self {
            stage,
            others,
            prefix,
            popular: String::new(),
            strict: String::new(),
            scheduled_too: String::new(),
        };
        filled.fill_group().await;
        filled.fill_direct().await;
        filled.fill_account().await;
        filled
    }

    /// A request of Ada's that succeeds.
    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let mut ask = self.stage.ask(method, path);
        if let Some(body) = body {
            ask = ask.json(&body);
        }
        ask.send().await.ok()
    }

    async fn fill_group(&mut self) {
        let group = format!("/v1/conversations/{}", self.stage.group);
        let details = json!({
            "name": "𝄞".repeat(CONVERSATION_NAME_CHARS_MAX), "description": long(DESCRIPTION_CHARS_MAX),
            "image": address(CONVERSATION_IMAGE_BYTES_MAX), "permissions": { "anyone_may_join": true },
        });
        self.ask("PATCH", &group, Some(details)).await;
        let ids: Vec<_> = self.others.iter().map(|other| other.id).collect();
        let added = self.ask("POST", &format!("{group}/members"), Some(json!({ "user_ids": ids }))).await;
        assert!(added["results"].as_array().unwrap().iter().all(|one| one["added"] == true), "{added}");
        for number in 0..PINS_PER_CONVERSATION_MAX {
            let message = text_message(&format!("pinned-{number}"));
            let sent = self.ask("POST", &format!("{group}/messages"), Some(message)).await;
            let path = format!("/v1/messages/{}", text(&sent["id"]));
            self.ask("PUT", &format!("{path}/pin"), None).await;
            self.popular = text(&sent["id"]);
        }
        for number in 0..INVITES_PER_CONVERSATION_MAX - 5 {
            let invite = json!({ "client_id": format!("i-{number}"), "expires_at": later(), "uses_max": 5 });
            self.ask("POST", &format!("{group}/invites"), Some(invite)).await;
        }
        let reaction = format!("/v1/messages/{}/reaction", self.popular);
        self.each_other(async |number, other| {
            let reaction_of = "🏽".repeat(REACTION_CHARS_MAX - 1);
            let letter = char::from(b'a' + (number % REACTIONS_DISTINCT_MAX) as u8);
            let body = json!({ "reaction": format!("{reaction_of}{letter}") });
            self.stage.raw.ask("PUT", &reaction).by(&other.http).json(&body).send().await.ok();
        })
        .await;
        let strict = json!({ "kind": "group", "name": "Strict" });
        let strict = text(&self.ask("POST", "/v1/conversations", Some(strict)).await["id"]);
        self.each_other(async |_, other| {
            let path = format!("/v1/conversations/{strict}/bans/{}", other.id);
            self.stage.ask("PUT", &path).send().await.ok();
        })
        .await;
        self.strict = strict;
    }

    async fn fill_direct(&mut self) {
        let (messages, message) = (self.stage.messages_path(), self.stage.message);
        for number in 0..TEXTS {
            let mut reply = text_message(&format!("reply-{number}"));
            reply["reply_to"] = json!(message);
            let sent = self.ask("POST", &messages, Some(reply)).await;
            self.ask("PUT", &format!("/v1/messages/{}/star", text(&sent["id"])), None).await;
            let edit = json!({ "text": format!("{number:02}{}", long(TEXT_CHARS_MAX - 2)) });
            self.ask("PATCH", &format!("/v1/messages/{message}"), Some(edit)).await;
            let scheduled = json!({
                "conversation_id": self.stage.direct, "send_at": later(),
                "message": text_message(&format!("later-{number}")),
            });
            let scheduled = self.ask("POST", "/v1/scheduled", Some(scheduled)).await;
            self.scheduled_too = text(&scheduled["scheduled"]["id"]);
        }
        for other in self.others.iter().take(TEXTS) {
            let conversation = self.stage.ada.open_direct(other).await;
            let draft = json!({ "draft": { "text": long(DRAFT_CHARS_MAX) } });
            self.ask("PATCH", &format!("/v1/conversations/{conversation}/me"), Some(draft)).await;
        }
    }

    async fn fill_account(&self) {
        self.ask("PATCH", "/v1/me", Some(profile())).await;
        // The stage has made two devices; some stay free for the calls themselves.
        for _ in 0..DEVICES_PER_USER_MAX - 8 {
            self.stage.ada.sign_in(&"𝄞".repeat(DEVICE_NAME_CHARS_MAX)).await;
        }
        for number in 0..LEFT {
            let new = json!({ "kind": "group", "name": "Left", "member_ids": [self.stage.ada.id] });
            // Ada blocks the last ones by leaving for good.
            let adder = &self.others[self.others.len() - 1 - number].http;
            let made = self.stage.raw.ask("POST", "/v1/conversations").by(adder).json(&new).send().await.ok();
            let path = format!("/v1/conversations/{}/leave?block=true", text(&made["id"]));
            self.ask("POST", &path, None).await;
        }
        // Bob, because blocks would hide these people from Ada.
        self.each_other(async |_, other| {
            let path = format!("/v1/blocks/{}", other.id);
            self.stage.raw.ask("PUT", &path).by(&self.stage.bob.http).send().await.ok();
        })
        .await;
    }

    async fn each_other(&self, act: impl AsyncFn(usize, &Person)) {
        stream::iter(self.others.iter().enumerate())
            .for_each_concurrent(AT_ONCE, |(number, other)| act(number, other))
            .await;
    }

    /// Where the answer of an operation is full, if it is not where the stage has it.
    pub(super) fn path(&self, operation: &str) -> Option<String> {
        let message = |rest: &str| format!("/v1/messages/{}{rest}", self.popular);
        Some(match operation {
            "find_users" => format!("/v1/users?query={}", self.prefix),
            "get_user" => format!("/v1/users/{}", self.others[0].id),
            "list_bans" => format!("/v1/conversations/{}/bans", self.strict),
            "list_gone" => "/v1/conversations/gone?since=2020-01-01T00:00:00Z".into(),
            "get_message" => message(""),
            "list_reactions" => message("/reactions"),
            "read_receipts" => message("/receipts"),
            "send_scheduled" => format!("/v1/scheduled/{}/send", self.scheduled_too),
            _ => return None,
        })
    }

    /// The body of a request whose answer is as large as it can be.
    pub(super) fn body(&self, operation: &str) -> Value {
        // They do not exist, and the answer says so for each of them.
        let strangers: Vec<String> =
            (1..=MEMBERS_ADDED_AT_ONCE_MAX).map(|number| number.to_string()).collect();
        let mut body = Value::Object(self.stage.good_body(operation));
        match operation {
            "open_conversation" => {
                body = json!({ "kind": "group", "name": "Many", "member_ids": strangers });
            }
            "add_members" => body["user_ids"] = json!(strangers),
            "update_membership" => body["draft"] = json!({ "text": long(DRAFT_CHARS_MAX) }),
            "edit_message" | "update_scheduled" => body["text"] = json!(long(TEXT_CHARS_MAX)),
            "update_conversation" => {
                body = json!({ "conversation_id": self.stage.group, "description": long(DESCRIPTION_CHARS_MAX) });
            }
            "update_me" => body = profile(),
            "send_message" => {
                body = text_message("full");
                body["reply_to"] = json!(self.stage.message);
            }
            "schedule_message" => body["message"] = text_message("later-and-full"),
            _ => {}
        }
        body
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// People with the longest names and pictures.
async fn people(stage: &Stage, prefix: &str) -> Vec<Person> {
    let url = stage.server.url();
    let person = async |number: usize| {
        let person = Person::register_as(&url, format!("{prefix}_{number:04}")).await;
        stage.raw.ask("PATCH", "/v1/me").by(&person.http).json(&profile()).send().await.ok();
        person
    };
    stream::iter(0..OTHERS.here()).map(person).buffered(AT_ONCE).collect().await
}
