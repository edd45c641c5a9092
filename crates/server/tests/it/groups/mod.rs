//! Groups, channels and all operations on messages, over raw HTTP and raw sockets, as any client could send them.
//!
//! - `routes`: each route once, as a user would
//! - `commands`: each command once
//! - `rules`: permissions, as a table
//! - `adding`: permissions and limits for adding users, leaving for good, and profile updates
//! - `policies`: the operator's settings, and owners who cannot leave
//! - `races`: concurrent contradicting actions
//! - `large`: large conversations
//! - `timers`: actions that the server takes on its own

mod adding;
mod commands;
mod large;
mod policies;
mod races;
mod routes;
mod rules;
mod timers;

use godwit_client::protocol::UserId;
use serde_json::{Value, json};

use crate::people::Person;
use crate::process::ServerProcess;
use crate::raw_http::{Ask, RawHttp};
use crate::raw_socket::RawSocket;

/// A well-formed id of nothing.
const NOBODY: &str = "9007199254740993";

/// A user who sends raw HTTP requests.
#[derive(Clone)]
struct Asker {
    raw: RawHttp,
    person: Person,
}

impl Asker {
    async fn register(server: &ServerProcess, name: &str) -> Self {
        Self { raw: RawHttp::new(&server.url()), person: Person::register(&server.url(), name).await }
    }

    async fn register_all<const N: usize>(server: &ServerProcess, names: [&str; N]) -> [Self; N] {
        let people = Person::register_all(&server.url(), names).await;
        people.map(|person| Self { raw: RawHttp::new(&server.url()), person })
    }

    /// Uses the current address of the server.
    fn follow(&mut self, server: &ServerProcess) {
        self.raw = RawHttp::new(&server.url());
        self.person.follow(&server.url());
    }

    const fn id(&self) -> UserId {
        self.person.id
    }

    /// Null means no body.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Ask {
        let ask = self.raw.ask(method, path).by(&self.person.http);
        if body.is_null() { ask } else { ask.json(body) }
    }

    /// The answer to a permitted request.
    async fn ok(&self, method: &str, path: &str, body: Value) -> Value {
        self.ask(method, path, &body).send().await.ok()
    }

    async fn get(&self, path: &str) -> Value {
        self.ok("GET", path, Value::Null).await
    }

    async fn socket(&self, server: &ServerProcess) -> RawSocket {
        RawSocket::open(server.address(), self.person.http.access_token().as_deref()).await
    }
}

/// Creates a group and returns its id.
async fn group(by: &Asker, members: &[&Asker]) -> String {
    let ids: Vec<_> = members.iter().map(|member| member.id()).collect();
    let new = json!({ "kind": "group", "name": "Birds", "member_ids": ids });
    text(&by.ok("POST", "/v1/conversations", new).await["id"])
}

/// The text of a field, such as an id.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// One field of each item of a list.
fn each<'a>(list: &'a Value, field: &str) -> Vec<&'a Value> {
    list.as_array().unwrap_or_else(|| panic!("{list} is no list")).iter().map(|item| &item[field]).collect()
}
