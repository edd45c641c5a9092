//! Each route once, as a user would.

mod conversations;
mod members;
mod messages;
mod personal;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Asker, text};
use crate::people::unique;
use crate::raw_http::{Answer, RawHttp};
use crate::unlimited::unlimited;

/// The parts of the API that these tests cover, by tag.
const TAGS: &[&str] = &["Conversations", "Members", "Messages"];

/// A user whose requests are recorded, together with those of the others.
#[derive(Clone)]
struct Visitor {
    asker: Asker,
    visited: Arc<Mutex<BTreeSet<(String, String)>>>,
}

impl Visitor {
    async fn send(&self, method: &str, path: &str, body: Value) -> Answer {
        let bare = path.split('?').next().unwrap().to_owned();
        self.visited.lock().unwrap().insert((method.to_owned(), bare));
        self.asker.ask(method, path, &body).send().await
    }

    async fn ok(&self, method: &str, path: &str, body: Value) -> Value {
        self.send(method, path, body).await.ok()
    }

    async fn get(&self, path: &str) -> Value {
        self.ok("GET", path, Value::Null).await
    }

    /// A request whose answer is empty.
    async fn done(&self, method: &str, path: &str, body: Value) {
        assert_eq!(self.send(method, path, body).await.status, 204, "{method} {path}");
    }

    fn id(&self) -> Value {
        json!(self.asker.id())
    }

    async fn make(&self, kind: &str, name: &str, members: &[&Self]) -> String {
        let ids: Vec<Value> = members.iter().map(|member| member.id()).collect();
        let new = json!({ "kind": kind, "name": name, "member_ids": ids });
        text(&self.ok("POST", "/v1/conversations", new).await["id"])
    }

    /// Sends a text and returns the message.
    async fn say(&self, conversation: &str, words: &str) -> Value {
        self.say_with(conversation, words, json!({})).await
    }

    async fn say_with(&self, conversation: &str, words: &str, more: Value) -> Value {
        let mut body = json!({ "client_id": unique("c"), "kind": "text", "text": words });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.ok("POST", &format!("/v1/conversations/{conversation}/messages"), body).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_route_has_its_documented_effect() {
    let server = unlimited().await;
    let visited = Arc::new(Mutex::new(BTreeSet::new()));
    let people = Asker::register_all(&server, ["ada", "bob", "eve", "kim"]).await;
    let people = people.map(|asker| Visitor { asker, visited: visited.clone() });
    tokio::join!(
        conversations::all(&people),
        members::all(&people),
        messages::all(&people),
        personal::all(&people),
    );
    let visited = visited.lock().unwrap().clone();
    for (method, path) in described(&RawHttp::new(&server.url())).await {
        let is_it = |(m, p): &(String, String)| *m == method && fits(p, &path);
        assert!(visited.iter().any(is_it), "{method} {path} was not tried");
    }
}

async fn described(raw: &RawHttp) -> Vec<(String, String)> {
    let all = operations(raw).await.into_iter().filter(|operation| TAGS.contains(&&*operation.tag));
    let described: Vec<_> = all.map(|operation| (operation.method, operation.path)).collect();
    assert!(described.len() > 40, "{described:?}");
    described
}

/// An operation of the API document.
pub(super) struct Operation {
    pub(super) method: String,
    /// A template such as `/v1/messages/{id}`.
    pub(super) path: String,
    pub(super) tag: String,
}

pub(super) async fn operations(raw: &RawHttp) -> Vec<Operation> {
    let document = raw.ask("GET", "/openapi.json").send().await.ok();
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let tag = text(&operation["tags"][0]);
            operations.push(Operation { method: method.to_ascii_uppercase(), path: path.clone(), tag });
        }
    }
    operations
}

/// True if a template matches a path.
pub(super) fn fits(path: &str, template: &str) -> bool {
    let (path, template): (Vec<&str>, Vec<&str>) = (path.split('/').collect(), template.split('/').collect());
    path.len() == template.len()
        && path.iter().zip(template).all(|(part, of)| *part == of || (of.starts_with('{') && !is_word(part)))
}

/// `pinned` and `gone` appear in place of ids.
fn is_word(part: &str) -> bool {
    ["pinned", "gone"].contains(&part)
}
